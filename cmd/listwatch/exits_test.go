package main

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/help"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/internal/exit"
)

func TestEveryExitCodeIsExplained(t *testing.T) {
	all := stdoutOf(t, 0, "explain-exit")
	var codes []int
	for _, e := range help.ExitCodes {
		codes = append(codes, e.Code)
		one := stdoutOf(t, 0, "explain-exit", strconv.Itoa(e.Code))
		if !strings.HasPrefix(one, strconv.Itoa(e.Code)+": "+e.Short+"\n") || !strings.Contains(one, "\n  To do: ") {
			t.Errorf("%d: %q", e.Code, one)
		}
		if !strings.Contains(all, one) {
			t.Errorf("%d is not among all", e.Code)
		}
	}
	if !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Errorf("%d: want them sorted, each once", codes)
	}
	for _, code := range []int{0, exit.CodeFailed, exit.CodeUsage, exit.CodeMatched, exit.CodeTimeout, exit.CodeHooks, exit.CodeForeign, exit.CodePipe, signals.Signal{Sig: syscall.SIGINT}.Code(), signals.Signal{Sig: syscall.SIGTERM}.Code(), signals.Signal{Sig: syscall.SIGHUP}.Code()} {
		if !slices.Contains(codes, code) {
			t.Errorf("%d is missing", code)
		}
	}
}
