package file_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/listwatch/listwatch/sink/file"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var write = flag.String("write", "", "write the example of today's form into this folder of testdata, such as v1")

// TestOpensTheFoldersOfFormerReleases: testdata has one for each form.
func TestOpensTheFoldersOfFormerReleases(t *testing.T) {
	if *write != "" {
		s := open(t, filepath.Join("testdata", *write), file.Options{})
		sinktest.WriteExample(t, s)
		s.Close()
	}
	folders, err := filepath.Glob("testdata/v*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, error %v", len(folders), err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.CopyFS(path, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			s := open(t, path, file.Options{})
			defer s.Close()
			sinktest.CheckExample(t, s)
		})
	}
}
