package view

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// forms are the forms of events.
func forms(info *object.Info) map[string]*View {
	return map[string]*View{"JSON": {Info: info}, "protobuf": {Info: info, Binary: true}, "rows": {Info: info, as: "Table", version: "v1"}}
}

// TestFramesAreSharedAndLimited: many watches that send one frame hold it once, in JSON and
// in protobuf; of those that send different ones some wait, until those whose clients read
// nothing are ended, and no other.
func TestFramesAreSharedAndLimited(t *testing.T) {
	info, objects := largeObjects(t)
	for name, v := range forms(info) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f Frames
				var sending []*Frame
				var mu sync.Mutex
				ended := make(map[*Frame]bool)
				send := func(o *object.Object) (room <-chan struct{}) {
					var frame *Frame
					frame, room, err := f.Event(v, "ADDED", o, v.Binary, func() {
						mu.Lock()
						defer mu.Unlock()
						ended[frame] = true
					})
					if err != nil {
						t.Fatal(err)
					}
					if room == nil {
						sending = append(sending, frame)
					}
					return room
				}
				if v.as != "Table" {
					for range 1000 {
						if send(objects[0]) != nil {
							t.Fatal("one of 1000 watches that send one frame waits")
						}
					}
					if &sending[0].Bytes[0] != &sending[999].Bytes[0] {
						t.Error("it is not shared")
					}
					for _, s := range sending {
						s.Done()
					}
					sending = nil
				}
				n := 0
				for n < len(objects) && send(objects[n]) == nil {
					n++
				}
				if n < 12 || n > 16 {
					t.Errorf("%d frames of 1 MiB with their objects are being sent, want some 15", n)
				}
				time.Sleep(backlog.Patience - time.Second)
				sending[0].Moved()
				sending[1].Done()
				if room := send(objects[n]); room != nil {
					t.Fatal("there is no room after a frame was sent")
				}
				room := send(objects[n+1])
				if room == nil {
					t.Fatal("there is room for more than before")
				}
				mu.Lock()
				if len(ended) > 0 {
					t.Errorf("%d watches were ended early", len(ended))
				}
				mu.Unlock()
				<-room
				synctest.Wait() // all are ended whose clients read nothing
				mu.Lock()
				defer mu.Unlock()
				if got := len(ended); got != n-2 || ended[sending[0]] || ended[sending[n]] {
					t.Errorf("%d watches were ended, want %d, whose clients read nothing", got, n-2)
				}
				for _, s := range sending {
					s.Done()
				}
				f.check(t)
			})
		})
	}
}

// TestFramesWaitForEachOther: watches whose clients read, if slowly, are not ended, however
// many there are.
func TestFramesWaitForEachOther(t *testing.T) {
	info, objects := largeObjects(t)
	for name, v := range forms(info) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f Frames
				var all sync.WaitGroup
				for i, o := range append(objects, objects...) {
					all.Go(func() {
						for {
							frame, room, err := f.Event(v, "ADDED", o, v.Binary, func() { t.Errorf("watch %d was ended", i) })
							if err != nil {
								t.Errorf("watch %d: %v", i, err)
								return
							}
							if room != nil {
								<-room
								continue
							}
							for range 4 {
								time.Sleep(backlog.Patience / 2)
								frame.Moved()
							}
							frame.Done()
							return
						}
					})
				}
				all.Wait()
				f.check(t)
			})
		})
	}
}

// check fails if a frame is counted that is not kept for others, or too many are kept.
func (f *Frames) check(t *testing.T) {
	t.Helper()
	kept := 0
	for _, s := range f.kept {
		kept += s.of.size()
	}
	if len(f.sending) != 0 || f.bytes != kept || kept > 32<<20 {
		t.Errorf("%d bytes, %d of which are kept, and %d frames are counted at the end", f.bytes, kept, len(f.sending))
	}
}

// largeObjects returns 40 objects of 1 MiB.
func largeObjects(t *testing.T) (*object.Info, []*object.Object) {
	t.Helper()
	info := &object.Info{Resource: kube.ConfigMaps, BuiltIn: true}
	const mib = 1 << 20
	objects := make([]*object.Object, 40)
	for i := range objects {
		o, err := object.Parse(kube.ConfigMaps, fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a%d"},"data":{"a":%q}}`, i, strings.Repeat("x", mib)))
		if err != nil {
			t.Fatal(err)
		}
		o.Seal(info, uint64(i+1))
		objects[i] = o
	}
	return info, objects
}
