package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/listwatch/listwatch/kube"
)

func TestProgramMovesIntoNATS(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	s.put(kube.ConfigMaps, "settings", `,"data":{"a":"1"}`)
	kubeconfig := s.args[:2]
	s.args = append(kubeconfig[:2:2], "--nats-embedded", "--nats-dir", filepath.Join(t.TempDir(), "store"), "--to", "nats://127.0.0.1:0")
	errs, stop := s.start("pods,cm")
	text := errs.wait(t, "phase=LIVE", 2)
	at := regexp.MustCompile(`url=(nats://127\.0\.0\.1:\d+)`).FindStringSubmatch(text)
	if at == nil {
		t.Fatalf("no address in\n%s", text)
	}
	s.args = append(kubeconfig[:2:2], "--to", at[1])
	if code, out, errs := s.run("verify"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	code, out, _ := s.run("status")
	if !regexp.MustCompile(`(?m)^\S+ +configmaps +0/1 +LIVE .*\n\S+ +pods +0/1 +LIVE `).MatchString(out) || code != exitOK {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
	s.args[3] += "/other"
	if code, _, errs := s.run("status"); code != exitFailed || !strings.Contains(errs, "stream other") {
		t.Errorf("status of no stream: exit code %d\n%s", code, errs)
	}
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d after a signal\n%s", code, errs)
	}
}

// TestHistoryOfAStreamThatExists: only what would write with --history warns of other limits.
func TestHistoryOfAStreamThatExists(t *testing.T) {
	srv := startNATS(t)
	s := newStage(t)
	s.args = append(s.args[:2:2], "--to", srv.ClientURL())
	for _, run := range []struct {
		args   []string
		warned bool
	}{
		{[]string{"init", "--history", "48h"}, false},
		{[]string{"init", "--history", "48h"}, false},
		{[]string{"status"}, false},
		{[]string{"init"}, true},
	} {
		code, _, errs := s.run(run.args...)
		if warned := strings.Contains(errs, "nats stream edit listwatch --max-age=720h0m0s"); code != exitOK || warned != run.warned {
			t.Errorf("%s: exit code %d; want a warning: %v\n%s", run.args, code, run.warned, errs)
		}
	}
}

func TestNATSURLsThatAreRefused(t *testing.T) {
	s := newStage(t)
	kubeconfig := s.args[:2]
	for _, to := range []string{"nats://10.0.0.1", "nats://127.0.0.1:0?replica=3", "sqlite:a.db", "nats://127.0.0.1:0?replicas=x", "nats://token@127.0.0.1:0"} {
		s.args = append(kubeconfig[:2:2], "--nats-embedded", "--nats-dir", t.TempDir(), "--to", to)
		if code, _, errs := s.run("pods"); code != exitUsage {
			t.Errorf("%s: exit code %d\n%s", to, code, errs)
		}
	}
}

func TestNATSPasswordsAreNotPrinted(t *testing.T) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "u", Password: "p", NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { stopNATS(srv) })
	s := newStage(t)
	s.args = append(s.args[:2:2], "--to-file", filepath.Join(t.TempDir(), "url"))
	if err := os.WriteFile(s.args[3], []byte(strings.Replace(srv.ClientURL(), "://", "://u:hunter2@", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := s.run("status"); code != exitFailed || strings.Contains(out+errs, "hunter2") || !strings.Contains(errs, "127.0.0.1") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
