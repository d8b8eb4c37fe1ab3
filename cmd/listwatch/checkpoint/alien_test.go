package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFileOfSomethingElseIsLeftAlone: whoever mistypes the name loses nothing, nor
// does it move.
func TestAFileOfSomethingElseIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"a manifest":     "apiVersion: v1\nkind: ConfigMap\n",
		"our own output": `{"v":1,"seq":1,"time":"2026-11-21T10:08:21.425Z","type":"ADDED"}` + "\n",
		"rows":           "EVENT      NAME   READY   STATUS    RESTARTS   AGE\n",
		"a script":       "#!/bin/sh\nlistwatch checkpoint 1\n",
		"a line":         "\n",
		"a few bytes":    "x y",
	} {
		path := filepath.Join(t.TempDir(), "c")
		must(t, os.WriteFile(path, []byte(text), 0o640))
		_, _, opened := Open(path, identity())
		_, reset := Reset(path, identity())
		for _, err := range []error{opened, reset} {
			if !errors.Is(err, ErrAlien) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%s: now it is %q, %v", name, b, err)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 { // and the lock
			t.Errorf("%s: beside it: %v, %v", name, left, err)
		}
	}
}

// TestResetTakesWhatWasACheckpoint: a damaged one too.
func TestResetTakesWhatWasACheckpoint(t *testing.T) {
	for _, text := range []string{"", "l", "listwatch", magic, magic + "9\nx", "listwatch chEckpoint 1\n", strings.Repeat("\x00", 4096), "listw" + strings.Repeat("\x00", 99)} {
		path := filepath.Join(t.TempDir(), "c")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := Reset(path, identity())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		closed(t, f)
		if b, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(b, []byte(magic)) {
			t.Errorf("%q: now it begins with %.30q, %v", text, b, err)
		}
	}
}
