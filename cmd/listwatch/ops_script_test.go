package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of scripts about --listen and completion:
//
//	get CODE PATH                  ask the program that runs for a path of --listen
//	occupied                       take a port; $PORT
//	sh SCRIPT ARGS...              run a script whose kubectl-listwatch is this program

var listening = regexp.MustCompile(`http://[0-9.]+:\d+`)

// varying are members of /debug/state that differ from run to run.
var varying = regexp.MustCompile(`"(secondsSinceContact|bytesWritten|version)": [^,\n]+`)

func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	url := listening.FindString(w.program.stderr.String())
	if url == "" {
		ts.Fatalf("it does not listen:\n%s", w.program.stderr)
	}
	req, err := http.NewRequestWithContext(w.ctx, "GET", url+args[1], nil)
	ts.Check(err)
	// Not the default one, whose connections would live on.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), varying.ReplaceAllString(w.scrub(string(b)), `"$1": N`))
	if got := strconv.Itoa(resp.StatusCode); got != args[0] {
		ts.Fatalf("%s: %s, want %s\n%s", args[1], got, args[0], b)
	}
}

func cmdOccupied(ts *testscript.TestScript, neg bool, args []string) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	ts.Setenv("PORT", port)
}

func cmdSh(ts *testscript.TestScript, neg bool, args []string) {
	exe, err := os.Executable()
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs("bin"), 0o755))
	if err := os.Symlink(exe, ts.MkAbs("bin/kubectl-listwatch")); err != nil && !os.IsExist(err) {
		ts.Check(err)
	}
	cmd := exec.CommandContext(worldOf(ts).ctx, "sh", append([]string{ts.MkAbs(args[0])}, args[1:]...)...)
	cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + ts.Getenv("HOME"), "KUBECONFIG=" + ts.Getenv("KUBECONFIG"), "PATH=" + ts.MkAbs("bin") + ":" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Run())
}
