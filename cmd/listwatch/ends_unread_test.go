//go:build unix

package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
)

// TestTimesOutThoughNobodyReads: a time that was set ends a run that cannot print, and its
// checkpoint has nothing that was not printed.
func TestTimesOutThoughNobodyReads(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		args   []string
		code   int
		stderr string
		silent bool
	}{
		{"timeout", []string{"--timeout", "10s"}, 4, "listwatch: --timeout is over: 10s; ", false},
		{"an end that comes before", []string{"--timeout", "10s", "--max-events", "1"}, 4, "listwatch: --timeout is over: 10s; ", false},
		{"staleness", []string{"--max-staleness", "10s"}, 1, `listwatch: nodes: no contact for .+ \(--max-staleness 10s\); `, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, names := crowd(t, 2)
			state := filepath.Join(t.TempDir(), "state")
			args := []string{"watch", "nodes", "-o", "name", "--output-watch-events", "--initial-list", "paged", "--checkpoint", state, "-s", srv.URL}
			c := newChild(t, append(args, test.args...)...)
			p := newClog(c)
			p.fill()
			c.start()
			hasNoted(c, state, names[0])
			if test.silent {
				if err := srv.SetDoor(apitest.Hanging); err != nil {
					t.Fatal(err)
				}
			}
			c.end(test.code)
			if printed := c.stderr.String(); !regexp.MustCompile(test.stderr + "nobody reads stdout: the next run prints again what is not there in whole").MatchString(printed) {
				t.Errorf("stderr: %s", printed)
			}
			if first := crowdName.FindString(p.rest()); first != "" {
				t.Errorf("stdout: %s", first)
			}
			if err := srv.SetDoor(apitest.Open); err != nil {
				t.Fatal(err)
			}
			code, rest, stderr := runProgram(t, nil, append(args, "--once")...)
			if diff := cmp.Diff(names, crowdName.FindAllString(rest, -1)); code != 0 || diff != "" {
				t.Errorf("the next run: exit code %d; told (-want +got):\n%s\n%s", code, diff, stderr)
			}
		})
	}
}
