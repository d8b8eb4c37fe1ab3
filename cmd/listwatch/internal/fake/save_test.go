package fake

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
	"github.com/listwatch/listwatch/kube"
)

// TestSaverKeepsTheFileThatThereIs: a save replaces the file as a whole, and one that
// fails leaves no other file behind.
func TestSaverKeepsTheFileThatThereIs(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"b"}}`})
	dir := t.TempDir()
	s := &saver{path: filepath.Join(dir, "save.json"), srv: srv}
	if err := errors.Join(s.save(), s.save()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info.Mode(), err)
	}
	b, err := os.ReadFile(s.path)
	if err != nil || !strings.Contains(string(b), `"name":"b"`) {
		t.Errorf("not saved: %v", err)
	}
	failing := &saver{path: filepath.Join(dir, "folder"), srv: srv}
	if err := os.Mkdir(failing.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := failing.save(); err == nil {
		t.Error("saved to a folder")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestSavedStateIsNotLargerThanIsReadAgain: by objects and by bytes.
func TestSavedStateIsNotLargerThanIsReadAgain(t *testing.T) {
	for _, text := range []string{strings.Repeat("x\n", manifest.MaxObjects+1), strings.Repeat("x", manifest.MaxBytes+1)} {
		w := &stateWriter{w: io.Discard}
		var err error
		for piece := range strings.SplitAfterSeq(text, "\n") {
			if _, err = io.WriteString(w, piece); err != nil {
				break
			}
		}
		if !errors.Is(err, errState) {
			t.Errorf("%d bytes: error %v", len(text), err)
		}
	}
}
