package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// silent is a watch that heard from its server at a moment.
type silent struct {
	open error // see undecided
	mu   sync.Mutex
	last time.Time
}

func (s *silent) Label() string    { return "pods" }
func (s *silent) Undecided() error { return s.open }

func (s *silent) contact() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *silent) hear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

func TestStalenessIsToldOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var stderr bytes.Buffer
		s := &silent{}
		var running sync.WaitGroup
		running.Go(func() {
			monitor.Silence(ctx, "", s.Label(), s.contact, messages.NewFolder(messages.New(&stderr, "", false)))
		})
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		pass(92 * time.Second) // from the start: it never answered
		pass(10 * time.Minute)
		s.hear()
		pass(80 * time.Second)
		s.hear()
		pass(time.Hour)
		cancel()
		running.Wait()
		want := "listwatch: pods: no contact for 90s, data may be stale\n" +
			"listwatch: pods: in contact again after 11m32s\n" +
			"listwatch: pods: no contact for 93s, data may be stale\n"
		if diff := cmp.Diff(want, stderr.String()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestEveryTalkIsOneLine(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var stderr bytes.Buffer
		talk := messages.New(&stderr, format, false)
		talk.Live = true
		talk.Progress("pods", 12500, 35810, 3*time.Second)
		talk.Warn("pods", "two\nlines \x1b[31m", "two", "err", "a\nb")
		talk.Note("a\r\nb")
		talk.Fatal("c\nd")
		lines := strings.Count(stderr.String(), "\n")
		if format == "json" {
			lines-- // progress
		}
		if lines != 3 {
			t.Errorf("%s: %d lines\n%q", format, lines, stderr.String())
		}
		if format == "text" && !strings.HasPrefix(stderr.String(), "\r\x1b[Klistwatch: pods: 12,500/48,310 objects, 4,166/s, 9s left\r\x1b[Klistwatch: pods: two lines [31m\n") {
			t.Errorf("%q", stderr.String())
		}
	}
}

// writes counts the calls of Write.
type writes struct {
	bytes.Buffer
	calls int
}

func (w *writes) Write(b []byte) (int, error) {
	w.calls++
	return w.Buffer.Write(b)
}

func recordsOf(n int) chan record.Record {
	records := make(chan record.Record, n)
	for range n {
		records <- record.Record{Type: "ADDED", Resource: kube.Pods, ID: codec.Identity{Name: "a"}}
	}
	close(records)
	return records
}

func TestPrinterWritesInBatches(t *testing.T) {
	var out writes
	p := &printer{output: output{format: print.Format{Name: "name"}}, w: &out, stop: func(error) {}}
	if err := p.run(recordsOf(1000)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "pod/a\n"); got != 1000 || out.calls > 10 {
		t.Errorf("%d lines in %d writes", got, out.calls)
	}
}

// full is a writer that fails.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestPrinterStopsAtAnErrorAndGoesOnReading(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{{io.ErrClosedPipe, exit.CodePipe}, {errors.New("no space"), exit.CodeFailed}} {
		var cause error
		p := &printer{output: output{format: print.Format{Name: "name"}}, w: full{test.err}, stop: func(err error) { cause = err }}
		err := p.run(recordsOf(10))
		var stderr bytes.Buffer
		code := exitCode(&cli.Program{Stderr: &stderr}, rootCommand(&cli.Program{}), err)
		if code != test.code || !errors.Is(cause, err) {
			t.Errorf("code %d, want %d; cause %v", code, test.code, cause)
		}
	}
}

func TestSecretsAreRedactedWhateverTheyHold(t *testing.T) {
	for _, object := range []string{
		`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"k":"hunter2","l":7},"stringData":{"m":"hunter2"}}`,
		`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":"hunter2","stringData":["hunter2"]}`,
		`{"metadata":{"name":"s","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}}}`,
	} {
		o, err := codec.ParseRaw([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range everyFormat(t, map[string][]string{"jsonpath": {"{}"}, "jsonpath-as-json": {"{.data}"}, "go-template": {"{{.}}"}, "jq": {"."},
			"custom-columns": {"D:.data,S:.stringData,A:.metadata.annotations"}}) {
			custom, err := print.ParseFormat(name, "")
			if err != nil {
				t.Fatal(err)
			}
			out := output{format: print.Format{Name: name, Custom: custom, Redact: true, Events: true}}
			enc := out.format.Encoder()
			b, err := enc.Encode(nil, &record.Record{Type: "ADDED", Resource: kube.Secrets, ID: o.Identity(), Object: o})
			if err != nil {
				t.Fatal(err)
			}
			if b, err = enc.End(enc.Flush(b)); err != nil || bytes.Contains(b, []byte("hunter2")) || (len(b) == 0) != (name == "none") {
				t.Errorf("-o %q prints %s, %v", name, b, err)
			}
		}
	}
}
