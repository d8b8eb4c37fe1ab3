package codec

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// What this package costs is guarded by how many of its statements run, as the
// coverage tool counts them: the number is the same on every machine, whatever
// else it does. That a statement takes longer than before it does not see; for
// this there are the benchmarks, and callgrind.

// costs is how many statements a pod of 6 KB may take, less than a fiftieth more,
// or less than a tenth less. A change that is faster sets them again.
var costs = map[string]int{
	"frames":  68,
	"unlined": 9494,
	"items":   10327,
	"raw":     15563,
	"struct8": 17823,
	"partial": 11418,
}

// TestWork is what is counted: each of the costs, and what is hostile in a size
// and in twice the size.
func TestWork(t *testing.T) {
	pod, metadata := podJSON(1), partialJSON(1)
	work := map[string]func() error{
		"raw":     func() error { _, err := ParseRaw(pod); return err },
		"struct8": func() error { _, err := Decode[pod8](pod); return err },
		"partial": func() error { _, err := Decode[kube.Partial](metadata); return err },
		"frames": func() error {
			_, err := frames(strings.NewReader(`{"type":"MODIFIED","object":`+string(pod)+"}\n"), 0)
			return err
		},
		"unlined": func() error { // it ends before its line does
			_, err := frames(strings.NewReader(`{"type":"MODIFIED","object":`+string(pod)+"} \n"), 0)
			return err
		},
		"items": func() error {
			_, _, err := items2(strings.NewReader(`{"kind":"PodList","apiVersion":"v1","items":[`+string(pod)+`]}`), 0)
			return err
		},
	}
	for name := range costs {
		t.Run(name, func(t *testing.T) {
			if err := work[name](); err != nil {
				t.Error(err)
			}
		})
	}
	for _, size := range []int{1000, 2000} {
		t.Run(fmt.Sprint("hostile", size), func(t *testing.T) {
			for _, text := range hostile {
				object := text(size)
				_, _ = ParseRaw([]byte(object))
				_, _ = Decode[pod8]([]byte(object))
				_, _ = Decode[kube.Partial]([]byte(object))
				_ = Quarantine([]byte(object), io.EOF)
				for _, piece := range []int{1, 100, 1 << 20} {
					_, _ = frames(&chunked{b: []byte(`{"type":"ADDED","x":` + object + `,"object":` + object + `}`), n: piece}, 0)
					_, _ = frames(&chunked{b: []byte(`{"type":"ADDED","object":` + object + `}` + "\n"), n: piece}, 0)
					list := `{"kind":"PodList","apiVersion":"v1","x":` + object + `,"items":[` + object + `]}`
					_, _, _ = items2(&chunked{b: []byte(list), n: piece}, 0)
					_, _ = passed(&chunked{b: []byte(list), n: piece}, size/2)
				}
			}
		})
	}
}

// hostile are objects that might take more than their size.
var hostile = []func(n int) string{
	func(n int) string { return `{"a":"` + strings.Repeat(`\\`, n) + `"}` },                      // strings of backslashes
	func(n int) string { return `{"a":"` + strings.Repeat(`\"`, n) + `"}` },                      // strings of quotes
	func(n int) string { return `"` + strings.Repeat(`\\\"`, n) + `"` },                          // a string alone
	func(n int) string { return `{"metadata":{"name":"a"},"b":"` + strings.Repeat(`\"`, n) },     // strings without an end
	func(n int) string { return `{"a":` + strings.Repeat(`\`, n) + `}` },                         // backslashes outside
	func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },                // brackets
	func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) },      // objects in objects
	func(n int) string { return `{"metadata":{"name":"a"},"b":` + strings.Repeat("[{", n/2) },    // brackets without end
	func(n int) string { return `{"a":[` + strings.Repeat("[],{},", n) + "1]}" },                 // up and down
	func(n int) string { return "{" + strings.Repeat(" \n", n) + "}" },                           // white space
	func(n int) string { return `{"a":"` + strings.Repeat("\xff", n) + `"}` },                    // invalid UTF-8
	func(n int) string { return `{"a":"` + strings.Repeat("ä", n) + `"}` },                       // not ASCII
	func(n int) string { return `{"a":[` + strings.Repeat("1,", n) + "]}" },                      // wrong at the end
	func(n int) string { return `{` + strings.Repeat(`"metadata":{"name":"a"},`, n) + `"b":1}` }, // a member many times
	func(n int) string { // maps and lists
		return `{"metadata":{"labels":{` + strings.Repeat(`"a":"b",`, n) + `"c":"d"},"finalizers":[` + strings.Repeat(`"",`, n) + `1]}}`
	},
	func(n int) string { // much to be cut
		return `{"metadata":{"name":"a"` + strings.Repeat(`,"managedFields":[],"b":1`, n) + `}}`
	},
}

func TestCost(t *testing.T) {
	count := counter(t)
	for name, want := range costs {
		if got := count(name); got > want+want/50 || got < want-want/10 {
			t.Errorf("%s runs %d statements, want %d", name, got, want)
		}
	}
	if once, twice := count("hostile1000"), count("hostile2000"); twice > 2*once+once/20 {
		t.Errorf("what is hostile runs %d statements, twice the size of it %d", once, twice)
	}
}

// counter builds the tests of this package so that they count their statements,
// and returns a function that runs one of TestWork.
func counter(t *testing.T) func(name string) int {
	dir := t.TempDir()
	program := filepath.Join(dir, "counting")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-covermode=count", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(name string) int {
		profile := filepath.Join(dir, "profile")
		run := "^TestWork$/^" + name + "$"
		cmd := exec.CommandContext(t.Context(), program, "-test.run="+run, "-test.coverprofile="+profile)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		b, err := os.ReadFile(profile)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for line := range bytes.Lines(b) { // file.go:1.2,3.4 statements runs
			fields := strings.Fields(string(line))
			if len(fields) != 3 {
				continue // mode: count
			}
			statements, err := strconv.Atoi(fields[1])
			runs, err2 := strconv.Atoi(fields[2])
			if err != nil || err2 != nil {
				t.Fatalf("a profile with %s", line)
			}
			sum += statements * runs
		}
		return sum
	}
}
