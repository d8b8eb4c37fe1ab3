package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// mortal is an informer with a snapshot, whose process ends from time to time.
// What its consumer has processed outlives it.
type mortal struct {
	*model
	path string
	now  *subject[thing]
	stop func() // nil = it is dead

	mu    sync.Mutex
	dealt map[kube.Key]string // key to UID
}

var modelBinding = cache.SnapshotIdentity{Cluster: "c", Resource: modelThings}

// saved returns what the file holds, and whether there is a good one.
func (m *mortal) saved() (map[kube.Key]thing, bool) {
	s := cache.NewStore[thing]()
	file, err := os.ReadFile(m.path)
	if err == nil {
		_, err = s.Load(bytes.NewReader(file), modelBinding)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, cache.ErrSnapshotDamaged) {
		m.t.Error(err)
	}
	return maps.Collect(s.All()), err == nil
}

// live begins a life. It first gets what was saved.
func (m *mortal) live() {
	saved, warm := m.saved()
	if !warm {
		m.dealt = map[kube.Key]string{}
	}
	i := cache.New(m.things, cache.Options[thing]{Snapshot: cache.Snapshot{Path: m.path, Cluster: "c", Every: 2 * time.Minute}})
	m.now = &subject[thing]{name: "mortal", i: i}
	b, _ := handle(m.model, m.now, "life")
	slow := newBeliever[thing](m.model, "mortal/changes")
	slow.slow = 20 * time.Second
	m.now.believers = append(m.now.believers, slow)
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.ctx))
	var living sync.WaitGroup
	living.Go(func() {
		for d := range i.Changes(ctx, cache.FIFOOptions{Cancel: m.cancels}) {
			slow.take(d)
			m.deal(d)
		}
	})
	synctest.Wait() // it is there before Run
	living.Go(func() { i.Run(ctx) })
	m.stop = func() {
		cancel()
		living.Wait()
	}
	if !warm {
		return
	}
	<-b.synced
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, o := range saved {
		// The journal may have a namesake that came later.
		if got := b.loaded[k]; got.UID == "" || got.UID == o.UID && got.ResourceVersion != o.ResourceVersion {
			m.t.Errorf("mortal got %s at %q, it was saved at %s", k, got.ResourceVersion, o.ResourceVersion)
		}
	}
}

func (m *mortal) deal(d cache.Delta[thing]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d.Type == watch.Deleted {
		delete(m.dealt, d.Key)
	} else {
		m.dealt[d.Key] = d.UID
	}
}

// die ends it in good order.
func (m *mortal) die() {
	if m.stop == nil {
		return
	}
	m.stop()
	m.stop = nil
}

// files returns what is on the disk, by name.
func (m *mortal) files() map[string][]byte {
	names, err := filepath.Glob(m.path + "*")
	if err != nil {
		m.t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = os.ReadFile(name); err != nil {
			m.t.Fatal(err)
		}
	}
	return files
}

// putBack makes the disk hold files and no others.
func (m *mortal) putBack(files map[string][]byte) {
	for name := range m.files() {
		if err := os.Remove(name); err != nil {
			m.t.Fatal(err)
		}
	}
	for name, b := range files {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
}

// fate ends it, in good order or not, or lets it live again.
func (m *mortal) fate() {
	if m.stop == nil {
		m.live()
		return
	}
	end := m.rnd.IntN(6)
	if end > 2 { // amid whatever goes on
		for range m.rnd.IntN(30) {
			m.write()
		}
	} else {
		synctest.Wait() // what it deals with, it deals with before it is killed
	}
	files := m.files()
	m.die()
	switch end {
	case 0, 1: // killed, so that it could not save
		m.note("killed")
		m.putBack(files)
	case 2: // and the file with it
		if file := files[m.path]; len(file) > 0 {
			m.note("file damaged")
			files[m.path] = file[:m.rnd.IntN(len(file))]
			m.putBack(files)
		}
	}
	if m.rnd.IntN(2) == 0 {
		m.live()
	}
}

func (m *mortal) differs(truth map[kube.Key]fact) string {
	if m.stop == nil {
		return ""
	}
	if why := m.now.differs(truth); why != "" {
		return why
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	want := map[kube.Key]string{}
	for k, o := range m.now.i.Store().All() {
		want[k] = o.UID
	}
	if !reflect.DeepEqual(want, m.dealt) {
		return fmt.Sprintf("mortal has processed %v, which should be %v; it got\n\t%s", m.dealt, want, strings.Join(m.now.believers[1].delivered, "\n\t"))
	}
	return ""
}
