package program_test

import (
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// testSlowReader: nobody reads the program's output while more is written than
// buffers hold. The server gives a slow watcher up, and yet no event may be lost.
func testSlowReader(t *testing.T, c *cluster.Cluster, p *setup.Program) {
	s := newSession(t.Context(), t, c)
	config := load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Seed: 7, Writes: 700, Payload: 100_000, Namespaces: []string{"load-slow"}}
	if err := load.Setup(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	s.start(p, c.URL())
	s.valve.shut()
	record, err := load.Run(t.Context(), config)
	s.must(err)
	s.valve.release()
	s.caughtUp()
	s.stop()
	for _, resource := range load.Resources() {
		a := newAccount(s.story.records, resource, record)
		a.check(t)
		if len(a.relists) > 0 {
			t.Errorf("%s: %d relists, want none", resource, len(a.relists))
		}
		t.Logf("%s: %s", resource, a)
	}
	checkSequence(t, s.story.records)
	t.Logf("peak memory: %d MB", peakMemory(s.cmd.ProcessState)>>20)
}
