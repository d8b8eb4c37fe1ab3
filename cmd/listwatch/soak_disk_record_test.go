//go:build linux && soak

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// recordingDisk is what a test of record needs.
type recordingDisk struct {
	t   *testing.T
	d   *tmpfs
	srv *apitest.Server
	w   *restless
	v   *victim // judges what was recorded
	j   *judge  // of what a client was told
}

func newRecording(t *testing.T) *recordingDisk {
	t.Helper()
	srv := apitest.NewWith(t, apitest.Options{Seed: *soakSeed, History: 20000, NoManagedFields: true})
	r := &recordingDisk{t: t, d: newDisk(t, 512, 10), srv: srv, w: newRestless(srv, *soakSeed, 20, kube.ConfigMaps)}
	r.j, r.v = newJudge(t, r.w), &victim{j: newJudge(t, r.w), args: []string{"record", "configmaps", "-A", "-s", srv.URL}}
	for range 40 {
		r.w.act()
	}
	return r
}

// acting has objects change until stop is called.
func (r *recordingDisk) acting() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { r.w.run(ctx, 300*time.Microsecond) })
	return func() {
		cancel()
		writer.Wait()
	}
}

// file is the name of the nth recording, which is compressed or not.
func (r *recordingDisk) file(n int) string {
	return r.d.path(fmt.Sprintf("%d.lwrec.ndjson%s", n, []string{"", ".gz"}[n%2]))
}

// filled expects c to end because the disk has no more room, with one clear error, and
// reports whether it had begun.
func (r *recordingDisk) filled(c *child, file string) bool {
	r.t.Helper()
	c.end(1)
	said := strings.TrimSuffix(c.stderr.String(), "\n")
	last := said[strings.LastIndex(said, "\n")+1:]
	if strings.Count(said, "no space") != 1 {
		r.t.Errorf("stderr:\n%s", said)
	}
	const why = `write FILE: no space left on device: make room where it goes`
	is := func(re string) bool {
		return regexp.MustCompile(`^` + strings.ReplaceAll(re, "FILE", regexp.QuoteMeta(file)) + `$`).MatchString(last)
	}
	switch {
	case is(`listwatch: write a recording: ` + why):
		r.d.has() // else the next run would refuse to replace it
		return false
	case !is(`listwatch: record to FILE: write a recording: ` + why):
		r.t.Errorf("stderr:\n%s", said)
	case r.d.free() > 0:
		r.t.Errorf("there is room for %d bytes", r.d.free())
	}
	return true
}

// testRecordingsDisk: a recording plays as far as it goes, which is to the disk's end.
func testRecordingsDisk(t *testing.T) {
	r := newRecording(t)
	begun := 0
	for n := range 30 {
		file := r.file(n)
		r.d.leaves(n / 2 * aPage)
		stop := r.acting()
		c := newChild(t, append(r.v.args, "--file", file)...).start()
		ok := r.filled(c, file)
		stop()
		if ok != (n > 1) {
			t.Errorf("with room for %d pages it has begun: %t", n/2, ok)
		}
		if ok {
			begun++
			r.v.played(t, file)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.d.clear()
	objects, _ := r.srv.List(kube.ConfigMaps)
	file := r.file(0)
	if code := r.v.program(t, "--file", file, "--max-events", fmt.Sprint(len(objects))); code != 0 {
		t.Errorf("with room again: exit code %d: %s", code, r.v.stderr.last)
	}
	r.v.played(t, file)
	r.v.j.end()
	t.Logf("%d recordings, %d cut, %d events", begun, r.v.cut, r.v.j.events)
	if r.v.empty > 0 || r.v.cut != begun {
		t.Errorf("of %d recordings %d were cut and %d cannot be read", begun, r.v.cut, r.v.empty)
	}
}

// testDiskOfTraffic: clients see nothing of it before the proxy ends.
func testDiskOfTraffic(t *testing.T) {
	r := newRecording(t)
	for n := range 10 {
		file := r.file(n)
		r.d.leaves((n + 4) * 2 * aPage)
		proxy := newChild(t, "record", "proxy", "127.0.0.1:0", "--file", file, "-s", r.srv.URL).start()
		proxy.until(proxy.stdout, "^http://.*$")
		stop := r.acting()
		client := newChild(t, "watch", "configmaps", "-A", "-o", "ndjson", "--initial-list", "paged", "-s", strings.TrimSpace(proxy.stdout.String())).start()
		if !r.filled(proxy, file) {
			t.Fatal("it had begun")
		}
		client.signal(syscall.SIGTERM)
		client.end(143)
		stop()
		r.j.anew()
		for line := range strings.Lines(client.stdout.String()) {
			r.j.read(line)
		}
		r.v.j.anew()
		r.traffic(file)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		r.d.clear()
	}
	t.Logf("%d events told, %d recorded", r.j.events, r.v.j.events)
	if r.v.j.events < 200 || r.j.events < r.v.j.events {
		t.Error("too little happened")
	}
	// A disk that is full at the start.
	r.d.leaves(0)
	file := filepath.Join(r.d.dir, "x.lwrec.ndjson")
	if r.filled(newChild(t, "record", "proxy", "127.0.0.1:0", "--file", file, "-s", r.srv.URL).start(), file) {
		t.Error("it began")
	}
}

// traffic has what a recording has of answers judged: a list and what was watched.
func (r *recordingDisk) traffic(file string) {
	r.t.Helper()
	rec, err := replay.Open(file)
	if err != nil || !rec.Truncated {
		r.t.Errorf("it is not cut: %v", err)
		return
	}
	asked, bodies, ended := map[int]string{}, map[int]string{}, map[int]bool{}
	for _, e := range rec.Entries {
		switch e.Kind {
		case replay.KindReq:
			asked[e.ID] = e.URL
		case replay.KindChunk:
			bodies[e.ID] += e.Text
		case replay.KindEnd:
			ended[e.ID] = true
		}
	}
	for id := range len(asked) + 1 {
		switch url, body := asked[id], bodies[id]; {
		case !strings.Contains(url, "/configmaps?"):
		case strings.Contains(url, "watch="):
			for line := range strings.Lines(body) {
				if !strings.HasSuffix(line, "\n") {
					break
				}
				var e struct {
					Type   string
					Object json.RawMessage
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					r.t.Errorf("%v: %s", err, line)
				}
				if e.Type != "BOOKMARK" {
					r.v.j.read(toldAs(e.Type, e.Object, false))
				}
			}
		case ended[id]:
			var list struct {
				Metadata struct{ ResourceVersion string }
				Items    []json.RawMessage
			}
			if err := json.Unmarshal([]byte(body), &list); err != nil {
				r.t.Errorf("%v: %s", err, body)
			}
			for _, o := range list.Items {
				if !strings.HasPrefix(string(o), `{"kind"`) {
					o = []byte(`{"kind":"ConfigMap","apiVersion":"v1",` + string(o[1:]))
				}
				r.v.j.read(toldAs("ADDED", o, true))
			}
			r.v.j.read(fmt.Sprintf(`{"type":"SYNCED","resource":"configmaps","rv":%q}`, list.Metadata.ResourceVersion))
		}
	}
}

// toldAs is a line as -o ndjson has it.
func toldAs(what string, object []byte, initial bool) string {
	text := string(object)
	return fmt.Sprintf(`{"type":%q,"resource":"configmaps","name":%q,"uid":%q,"rv":%q,"initial":%t,"object":%s}`,
		what, member(text, `"name":"`), member(text, `"uid":"`), member(text, `"resourceVersion":"`), initial, text)
}
