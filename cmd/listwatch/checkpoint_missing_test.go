package main

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/kube"
)

// TestCheckpointWithoutAType: a run goes on though its type is not served at the start, and
// reports the deletions when the type is served again, perhaps in another version.
func TestCheckpointWithoutAType(t *testing.T) {
	v2 := kube.Resource{Version: "v2", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	for _, test := range []struct {
		name  string
		args  []string
		again kube.Resource
	}{
		{"a type", []string{"configmaps"}, kube.ConfigMaps},
		{"a short name", []string{"cm"}, kube.ConfigMaps},
		{"a kind", []string{"ConfigMap"}, kube.ConfigMaps},
		{"a version", []string{"configmaps.v1."}, kube.ConfigMaps},
		{"a new version", []string{"configmaps"}, v2},
		{"all namespaces", []string{"configmaps", "-A"}, kube.ConfigMaps},
		{"names", []string{"configmaps", "a", "b"}, kube.ConfigMaps},
		{"beside another type", []string{"secrets,configmaps"}, kube.ConfigMaps},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, dir)
				p.contexts = "east"
				p.put(p.east, "a", 1)
				p.put(p.east, "b", 1)
				args := append([]string{"watch", "-o", "ndjson", "--events", onlyObjects, "--checkpoint", filepath.Join(dir, "state")}, test.args...)
				stop := p.start(args...)
				<-time.After(time.Minute)
				p.expect("at first", "ADDED a", "ADDED b")
				end := func() {
					t.Helper()
					if code := stop(); code != 0 {
						t.Errorf("exit code %d\n%s", code, p.stderr.take())
					}
				}
				end()
				p.east.RemoveResource(kube.ConfigMaps)
				stop = p.start(args...)
				<-time.After(10 * time.Minute)
				p.expect("without the type")
				streams := 1
				if test.name == "names" {
					streams = 2
				}
				if printed := p.stderr.take(); strings.Count(printed, "cannot begin: the server has no resource type") != streams || strings.Count(printed, "; waiting for it") != streams {
					t.Errorf("stderr does not say once what is missing:\n%s", printed)
				}
				end() // and once more, from what the last run has left
				stop = p.start(args...)
				<-time.After(time.Minute)
				p.east.AddResource(apitest.ResourceInfo{Resource: test.again})
				p.east.Put(test.again, `{"metadata":{"namespace":"default","name":"a"}}`)
				<-time.After(10 * time.Minute)
				p.expect("when it is served again", "ADDED a relist", "DELETED a relist", "DELETED b relist")
				p.east.Put(test.again, `{"metadata":{"namespace":"default","name":"a"},"data":{"x":"2"}}`)
				<-time.After(time.Minute)
				p.expect("after that", "MODIFIED a")
				end()
			})
		})
	}
}

// TestCheckpointHasNoSuchType: that there is a checkpoint is no reason to wait for a type
// that it does not have.
func TestCheckpointHasNoSuchType(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, dir)
		p.contexts = "east"
		args := []string{"-o", "ndjson", "--checkpoint", filepath.Join(dir, "state")}
		stop := p.start(append([]string{"watch", "configmaps"}, args...)...)
		<-time.After(time.Minute)
		if code := stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.stderr.take())
		}
		p.stderr.take()
		for _, typed := range []string{"configmap2", "configmaps,configmap2", "configmaps.example.com"} {
			stop = p.start(append([]string{"watch", typed}, args...)...)
			<-time.After(time.Minute)
			if code, printed := stop(), p.stderr.take(); code != exit.CodeFailed || !strings.Contains(printed, "the server has no resource type") {
				t.Errorf("%s: exit code %d\n%s", typed, code, printed)
			}
		}
		p.east.RemoveResource(kube.ConfigMaps)
		for _, typed := range []string{"configmaps,configmap2", "configmap2,configmaps", "configmaps.example.com"} {
			stop = p.start(append([]string{"watch", typed}, args...)...)
			<-time.After(time.Minute)
			if code, printed := stop(), p.stderr.take(); code != exit.CodeFailed || !strings.Contains(printed, "the server has no resource type") {
				t.Errorf("%s: exit code %d\n%s", typed, code, printed)
			}
		}
	})
}
