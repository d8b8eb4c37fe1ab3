package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
)

// FuzzKustomize: what a build prints is read as a file is; what a failed build prints is in
// a short error without control characters.
func FuzzKustomize(f *testing.F) {
	for _, text := range []string{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "", "---\n", "Error: \x1b[31mno such\u202e folder\r\nmore", strings.Repeat("x", 1<<16)} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	dir := f.TempDir()
	script := "#!/bin/sh\ntest \"$3\" = fails || exec cat \"$0.out\"\ncat \"$0.out\" >&2\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomize"), []byte(script), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	f.Fuzz(func(t *testing.T, text []byte, fails bool) {
		if err := os.WriteFile(filepath.Join(dir, "kustomize.out"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if fails {
			_, err := (&manifest.Reader{}).Kustomize(t.Context(), "fails")
			if err == nil || len(err.Error()) > 2000 || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e }) {
				t.Fatalf("the error is %q", err)
			}
			return
		}
		got, err := (&manifest.Reader{}).Kustomize(t.Context(), "x")
		want, wantErr := (&manifest.Reader{}).Parse("x", text)
		if wantErr == nil && want == nil {
			wantErr = manifest.ErrNothing
		}
		if (err == nil) != (wantErr == nil) || len(got) != len(want) {
			t.Fatalf("%d objects, %v; a file has %d, %v", len(got), err, len(want), wantErr)
		}
		for i := range got {
			if diff := cmp.Diff(string(want[i].JSON()), string(got[i].JSON())); diff != "" {
				t.Fatalf("object %d (-file +build):\n%s", i, diff)
			}
		}
	})
}
