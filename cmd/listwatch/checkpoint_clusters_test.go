package main

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/kube"
)

// TestCheckpointWithoutACluster: a run that continues does so with the clusters that are
// there, and with the others when they come, from what was printed of each.
func TestCheckpointWithoutACluster(t *testing.T) {
	for _, test := range []struct {
		name string
		door apitest.Door
		args []string
	}{
		{name: "refusing", door: apitest.Refusing},
		{name: "silent", door: apitest.Hanging},
		{name: "delayed", door: apitest.Refusing, args: []string{"--debounce", "20s"}},
		{name: "rows", door: apitest.Refusing, args: []string{"--where", ".data.x != null"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, dir)
				p.put(p.east, "a", 1)
				p.put(p.west, "b", 1)
				p.put(p.west, "c", 1)
				args := append([]string{"watch", "configmaps", "-o", "ndjson", "--events", onlyObjects, "--checkpoint", filepath.Join(dir, "state")}, test.args...)
				stop := p.start(args...)
				<-time.After(time.Minute)
				p.expect("at first", "east ADDED a", "west ADDED b", "west ADDED c")
				end := func() {
					t.Helper()
					if code := stop(); code != 0 {
						t.Errorf("exit code %d\n%s", code, p.stderr.take())
					}
				}
				end()
				p.put(p.east, "a", 2)
				p.west.Delete(kube.ConfigMaps, kube.Key{Namespace: "default", Name: "b"})
				p.door(p.west, test.door)
				stop = p.start(args...)
				<-time.After(10 * time.Minute)
				p.expect("while west is away", "east MODIFIED a")
				if printed := p.stderr.take(); !strings.Contains(printed, "listwatch: west: cannot begin: ") {
					t.Errorf("stderr does not say which cluster is away:\n%s", printed)
				}
				end()
				p.put(p.east, "a", 3)
				stop = p.start(args...)
				<-time.After(10 * time.Minute)
				p.expect("away again", "east MODIFIED a")
				p.door(p.west, apitest.Open)
				<-time.After(10 * time.Minute)
				p.expect("when it is back", "west DELETED b")
				p.put(p.west, "c", 2)
				p.put(p.east, "a", 4)
				<-time.After(time.Minute)
				p.expect("after that", "east MODIFIED a", "west MODIFIED c")
				end()
				p.west.Delete(kube.ConfigMaps, kube.Key{Namespace: "default", Name: "c"})
				p.west.Expire()
				stop = p.start(args...)
				<-time.After(10 * time.Minute)
				p.expect("in the next run", "west DELETED c relist")
				end()
			})
		})
	}
}

// TestCheckpointWithoutATypeOfACluster: a type that one cluster no longer serves at the start
// of the next run does not end the other cluster.
func TestCheckpointWithoutATypeOfACluster(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, dir)
		p.put(p.east, "a", 1)
		p.put(p.west, "b", 1)
		args := []string{"watch", "configmaps", "-o", "ndjson", "--events", onlyObjects, "--checkpoint", filepath.Join(dir, "state")}
		stop := p.start(args...)
		<-time.After(time.Minute)
		p.expect("at first", "east ADDED a", "west ADDED b")
		if code := stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.stderr.take())
		}
		p.west.RemoveResource(kube.ConfigMaps)
		p.put(p.east, "a", 2)
		stop = p.start(args...)
		<-time.After(10 * time.Minute)
		p.expect("without the type in west", "east MODIFIED a")
		if printed := p.stderr.take(); !strings.Contains(printed, `listwatch: west: configmaps: cannot begin: the server has no resource type "configmaps"`) {
			t.Errorf("stderr does not say what is missing:\n%s", printed)
		}
		p.west.AddResource(apitest.ResourceInfo{Resource: kube.ConfigMaps})
		<-time.After(10 * time.Minute)
		p.expect("when it is served again", "west DELETED b relist")
		if code := stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.stderr.take())
		}
	})
}

// TestCheckpointBeginsWithoutACluster: neither does the first run need all clusters.
func TestCheckpointBeginsWithoutACluster(t *testing.T) {
	for _, comes := range []bool{false, true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t, dir)
			p.put(p.east, "a", 1)
			p.put(p.west, "b", 1)
			p.door(p.west, apitest.Refusing)
			args := []string{"watch", "configmaps", "-o", "ndjson", "--events", onlyObjects, "--checkpoint", filepath.Join(dir, "state")}
			stop := p.start(args...)
			<-time.After(time.Minute)
			p.expect("at first", "east ADDED a")
			came := []string{"west ADDED b"}
			if comes {
				p.door(p.west, apitest.Open)
				<-time.After(10 * time.Minute)
				p.expect("when west has come", came...)
				came = nil
			}
			if code := stop(); code != 0 {
				t.Errorf("exit code %d\n%s", code, p.stderr.take())
			}
			p.door(p.west, apitest.Open)
			stop = p.start(args...)
			<-time.After(10 * time.Minute)
			p.expect("in the next run", came...)
			if code := stop(); code != 0 {
				t.Errorf("exit code %d\n%s", code, p.stderr.take())
			}
		})
	}
}

// TestClusterThatRefusesDoesNotHoldTheOthers: a supervisor that restarts the run often gets
// what the others have.
func TestClusterThatRefusesDoesNotHoldTheOthers(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, dir)
		p.put(p.east, "a", 1)
		p.put(p.west, "b", 1)
		args := []string{"watch", "configmaps", "-o", "ndjson", "--events", onlyObjects, "--checkpoint", filepath.Join(dir, "state")}
		stop := p.start(args...)
		<-time.After(time.Minute)
		p.expect("at first", "east ADDED a", "west ADDED b")
		if code := stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.stderr.take())
		}
		p.door(p.west, apitest.Refusing)
		p.put(p.east, "a", 2)
		stop = p.start(args...)
		<-time.After(100 * time.Millisecond)
		p.expect("at once", "east MODIFIED a")
		if code := stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.stderr.take())
		}
	})
}

// TestLateClusterIsAnother: a run ends where a cluster that comes is not the one of the
// checkpoint, as it does not begin with it.
func TestLateClusterIsAnother(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, dir)
		p.put(p.east, "a", 1)
		p.put(p.west, "b", 1)
		p.west.Put(kube.Namespaces, `{"metadata":{"name":"kube-system"}}`)
		args := []string{"watch", "configmaps", "-o", "ndjson", "--events", onlyObjects, "--checkpoint", filepath.Join(dir, "state")}
		stop := p.start(args...)
		<-time.After(time.Minute)
		p.expect("at first", "east ADDED a", "west ADDED b")
		stop()
		p.west = apitest.NewWith(t, apitest.Options{InMemory: true, Seed: 2})
		p.west.Put(kube.Namespaces, `{"metadata":{"name":"kube-system"}}`)
		p.put(p.west, "b", 1)
		p.door(p.west, apitest.Refusing)
		stop = p.start(args...)
		<-time.After(time.Minute)
		p.put(p.east, "a", 2)
		<-time.After(time.Second)
		p.expect("while it is away", "east MODIFIED a")
		p.door(p.west, apitest.Open)
		<-time.After(time.Minute)
		p.expect("when it is there")
		if code := stop(); code != exit.CodeForeign {
			t.Errorf("exit code %d, want %d\n%s", code, exit.CodeForeign, p.stderr.take())
		}
	})
}

// TestClusterDiesBeforeItIsIdentified: a cluster that lists its types, and then does not
// respond when the checkpoint needs its UID, is late as one that never responded.
func TestClusterDiesBeforeItIsIdentified(t *testing.T) {
	for _, test := range []struct {
		name   string
		door   apitest.Door
		within time.Duration
	}{
		{"refusing", apitest.Refusing, time.Second},
		{"silent", apitest.Hanging, 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, dir)
				p.put(p.east, "a", 1)
				p.put(p.west, "b", 1)
				args := []string{"watch", "configmaps", "-o", "ndjson", "--events", onlyObjects, "--checkpoint", filepath.Join(dir, "state")}
				for run, comes := range [][]string{{"west ADDED b"}, {"west MODIFIED b"}} {
					p.put(p.west, "b", run+1)
					p.put(p.east, "a", run+1)
					p.west.On(apitest.Match{Verb: "get", Resource: "namespaces"}, faults.Down(test.door, 5*time.Minute)).Times(1)
					stop := p.start(args...)
					<-time.After(test.within)
					p.expect("while west is away", map[int]string{0: "east ADDED a", 1: "east MODIFIED a"}[run])
					<-time.After(10 * time.Minute)
					p.expect("when west is back", comes...)
					if code := stop(); code != 0 {
						t.Errorf("exit code %d\n%s", code, p.stderr.take())
					}
				}
			})
		})
	}
}
