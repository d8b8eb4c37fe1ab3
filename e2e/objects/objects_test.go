package objects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/internal/yamljson"
)

var (
	update = flag.Bool("update", false, "write testdata/differences.txt")
	rounds = flag.Int("rounds", 1, "how many times as many objects to try: those beyond the first have two things wrong, chosen by a fixed seed")
	only   = flag.String("only", "", "of these names (kind/name) only, and print each difference in full")
)

const differencesFile = "testdata/differences.txt"

const asItIs = " as it is" // what is done to a valid object

// trial is an object to create.
type trial struct {
	title  string // kind/name and what is done to it
	path   string
	object any
}

// TestObjects compares the fake server with the real one.
func TestObjects(t *testing.T) {
	real := cluster.ForTest(t, cluster.Options{})
	fake := apitest.NewWith(t, apitest.Options{Namespaces: true})
	known := readDifferences(t)
	found := map[string]string{} // by title
	var mu sync.Mutex
	trials := trialsOf(t)
	next := make(chan trial)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for tr := range next {
				want, got, err := both(t.Context(), real, fake, tr)
				if err != nil {
					t.Errorf("%s: %v", tr.title, err)
					continue
				}
				if strings.HasSuffix(tr.title, asItIs) && want.Code != http.StatusCreated {
					t.Errorf("%s: kube-apiserver refuses it: %s", tr.title, want.message)
				}
				if said := differ(want, got); said != "" {
					mu.Lock()
					found[tr.title] = said
					mu.Unlock()
					if *only != "" {
						t.Logf("%s: %s\nreal: %s\nfake: %s\n%s", tr.title, said, want.message, got.message, cmp.Diff(want.Stored, got.Stored))
					}
				}
			}
		})
	}
	for _, tr := range trials {
		next <- tr
	}
	close(next)
	workers.Wait()
	t.Logf("%d objects, %d differences, %d of them known", len(trials), len(found), len(known))
	if *update {
		writeDifferences(t, found)
		return
	}
	for _, tr := range trials {
		said, differs := found[tr.title]
		_, expected := known[tr.title]
		switch {
		case differs && !expected:
			t.Errorf("%s: %s", tr.title, said)
		case !differs && expected:
			t.Errorf("%s: there is no difference any more: remove its line from %s", tr.title, differencesFile)
		}
	}
}

// both asks both servers.
func both(ctx context.Context, real *cluster.Cluster, fake *apitest.Server, tr trial) (want, got answer, err error) {
	if want, err = create(ctx, real.HTTPClient(), real.URL(), tr.path, tr.object); err != nil {
		return want, got, fmt.Errorf("kube-apiserver: %w", err)
	}
	if got, err = create(ctx, fake.Client(), fake.URL, tr.path, tr.object); err != nil {
		return want, got, fmt.Errorf("apitest: %w", err)
	}
	return want, got, nil
}

// differ says how the answers differ, "" where they do not.
func differ(want, got answer) string {
	switch {
	case want.Code != got.Code || want.Reason != got.Reason || !slices.Equal(want.Causes, got.Causes):
		return fmt.Sprintf("kube-apiserver %s, apitest %s", want, got)
	case want.Code == http.StatusCreated && !cmp.Equal(want.Stored, got.Stored):
		return "another object is stored"
	}
	return ""
}

// trialsOf returns the objects of testdata, as they are, with one thing done to them, and
// some with two.
func trialsOf(t *testing.T) (list []trial) {
	t.Helper()
	dice := rand.New(rand.NewPCG(1, 2))
	for _, base := range bases(t) {
		meta, _ := base["metadata"].(map[string]any)
		name := fmt.Sprintf("%s/%s", base["kind"], meta["name"])
		if *only != "" && !strings.Contains(","+*only+",", ","+name+",") {
			continue
		}
		path := pathOf(base)
		list = append(list, trial{name + asItIs, path, base})
		all := mutations(nil, base)
		for _, m := range all {
			o, _ := apply(base, m.path, m)
			list = append(list, trial{name + " " + m.String(), path, o})
		}
		for range len(all) * (*rounds - 1) {
			a, b := all[dice.IntN(len(all))], all[dice.IntN(len(all))]
			o, _ := apply(base, a.path, a)
			o, _ = apply(o, b.path, b)
			list = append(list, trial{name + " " + a.String() + " and " + b.String(), path, o})
		}
	}
	return list
}

// bases returns the valid objects of testdata.
func bases(t *testing.T) (list []map[string]any) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no objects: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dec := yamljson.NewDecoder(b, yamljson.Limits{})
		for {
			v, err := dec.Value()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			j, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			d := json.NewDecoder(bytes.NewReader(j))
			d.UseNumber()
			var o map[string]any
			if err := d.Decode(&o); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			list = append(list, o)
		}
	}
	return list
}

// readDifferences returns the lines of differences.txt by their titles.
func readDifferences(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(differencesFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if title, said, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok && !strings.HasPrefix(line, "#") {
			known[title] = said
		}
	}
	return known
}

func writeDifferences(t *testing.T, found map[string]string) {
	t.Helper()
	var lines []string
	for title, said := range found {
		lines = append(lines, title+": "+said+"\n")
	}
	slices.Sort(lines)
	text := "# What apitest makes otherwise than kube-apiserver. This list may only shrink: see doc_test.go.\n" + strings.Join(lines, "")
	if err := os.WriteFile(differencesFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
