package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

func TestProgramMovesIntoFiles(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	path := filepath.Join(t.TempDir(), "cluster.log")
	s.args[3] = "file:" + path
	if code, _, errs := s.run("status"); code != exitFailed {
		t.Errorf("status of no folder: exit code %d\n%s", code, errs)
	}
	errs, stop := s.start("pods", "--flush", "1ms")
	errs.wait(t, "phase=LIVE", 1)
	if code, out, errs := s.run("verify"); code != exitOK { // while the other process writes
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	if code, _, errs := s.run("pods"); code != exitFailed || !regexp.MustCompile("locked by process").MatchString(errs) {
		t.Errorf("another process: exit code %d\n%s", code, errs)
	}
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d after a signal\n%s", code, errs)
	}
	s.put(kube.Pods, "web-1", webPod)
	if code, out, _ := s.run("verify", "--wait", "0"); code != exitDifference {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
	code, out, _ := s.run("status")
	if !regexp.MustCompile(`(?m)^\S+ +pods +0/1 +LIVE `).MatchString(out) || code != exitOK {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
	if found, err := filepath.Glob(path + "/*/-/pods/0/*.r*.ndjson"); err != nil || len(found) == 0 {
		t.Errorf("segments %v, error %v", found, err)
	}
	s.args[3] = "file:" + path
	if code, _, errs := s.run("pods", "--lease", "default/sink"); code != exitUsage {
		t.Errorf("--lease: exit code %d\n%s", code, errs)
	}
}
