package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// TestFramesAreSharedAndLimited: many watches that send one frame hold it once, in JSON and
// in protobuf; of those that send different ones the oldest are ended, and the others are
// not.
func TestFramesAreSharedAndLimited(t *testing.T) {
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
	for name, v := range map[string]*View{"JSON": {Info: info}, "protobuf": {Info: info, Binary: true}, "rows": {Info: info, as: "Table", version: "v1"}} {
		t.Run(name, func(t *testing.T) {
			var f Frames
			ended := make(map[int]bool)
			var sending []*Frame
			send := func(i int, o *object.Object) {
				frame, err := f.Event(v, "ADDED", o, v.Binary, func() { ended[i] = true })
				if err != nil {
					t.Fatal(err)
				}
				sending = append(sending, frame)
			}
			if v.as != "Table" {
				for i := range 1000 {
					send(i, objects[0])
				}
				if len(ended) > 0 || &sending[0].Bytes[0] != &sending[999].Bytes[0] {
					t.Errorf("%d of 1000 watches that send one frame were ended", len(ended))
				}
				for _, s := range sending {
					s.Done()
				}
			}
			sending = nil
			for i, o := range objects {
				send(i, o)
			}
			left := len(objects) - len(ended)
			if left < 12 || left > 16 {
				t.Errorf("%d frames of 1 MiB with their objects are being sent, want some 15", left)
			}
			for i := range objects {
				if ended[i] != (i < len(ended)) {
					t.Errorf("watch %d was ended: %t; %d were", i, ended[i], len(ended))
				}
			}
			for _, s := range sending {
				s.Done()
			}
			if f.held != 0 || f.sending.Len() != 0 {
				t.Errorf("%d bytes in %d frames are counted at the end", f.held, f.sending.Len())
			}
		})
	}
}
