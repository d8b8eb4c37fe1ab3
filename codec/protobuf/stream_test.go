package protobuf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
)

// frame is one frame of a watch.
func frame(typ string, object []byte) string {
	return sized(field(1, typ) + field(2, field(1, string(object))))
}

func sized(message string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(message)))) + message
}

// list is the body of a list of Pods.
func list(parts ...string) string { return string(object("v1", "PodList", parts...)) }

// delivered is what came out of a sequence, one line an element, the error last.
func delivered[V any](seq iter.Seq2[V, error], show func(V) string) string {
	var out strings.Builder
	for v, err := range seq {
		if err != nil {
			fmt.Fprintf(&out, "%v\n", err)
			continue
		}
		fmt.Fprintln(&out, show(v))
	}
	return out.String()
}

func frames(r io.Reader, max int) string {
	seq := protobuf.Frames(r, max, func(f codec.Frame) (string, error) {
		id, err := codec.Skim(f.Object)
		if err != nil {
			return "", codec.Quarantine(f.Object, err)
		}
		return fmt.Sprintf("%s %s %s/%s", f.Type, id.Kind, id.Namespace, id.Name), nil
	})
	return delivered(seq, func(s string) string { return s })
}

func named(name string) []byte { return object("v1", "Pod", field(1, field(1, name), field(3, "ns"))) }

func TestFrames(t *testing.T) {
	added := frame("ADDED", named("a"))
	for _, c := range []struct{ about, in, want string }{
		{"nothing", "", ""},
		{"two", added + frame("DELETED", named("b")), "ADDED Pod ns/a\nDELETED Pod ns/b\n"},
		{"an unknown field of an event", sized(field(1, "ADDED") + number(9, 1) + field(2, field(1, string(named("a"))))), "ADDED Pod ns/a\n"},
		{"cut in a length", added + "\x00\x00", "ADDED Pod ns/a\nbody truncated inside a frame at byte 41: unexpected EOF\n"},
		{"cut in an event", added + added[:20], "ADDED Pod ns/a\nbody truncated inside a frame at byte 45: unexpected EOF\n"},
		{"an object that is no object", added + frame("ADDED", object("v1", "Pod", "\x0a\x7f")) + added,
			"ADDED Pod ns/a\nPod \"\" of 19 bytes: invalid protobuf at byte 0: it ends too early\nADDED Pod ns/a\n"},
		{"JSON", `{"type":"ADDED","object":{}}`, "invalid protobuf at byte 0: a frame of 2065855609 bytes\n"},
		{"no type", sized(field(2, field(1, "x"))) + added, "invalid protobuf at byte 9: frame without a type\n"},
		{"no object", sized(field(1, "ADDED")) + added, "invalid protobuf at byte 11: frame without an object\n"},
		{"an empty frame", "\x00\x00\x00\x00" + added, "invalid protobuf at byte 4: frame without a type\n"},
		{"no event", sized("\xff\xff\xff") + added, "invalid protobuf at byte 7: it ends too early\n"},
		{"too large", added + sized(field(1, "ADDED")+field(2, field(1, strings.Repeat("x", 1000)))), "ADDED Pod ns/a\nframe above the limit of 1000 bytes\n"},
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)), "with EOF": iotest.DataErrReader(strings.NewReader(c.in))} {
			if diff := cmp.Diff(c.want, frames(r, 1000)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.about, name, diff)
			}
		}
	}
}

// TestFramesComeAtOnce: a frame is delivered when its last byte has come.
func TestFramesComeAtOnce(t *testing.T) {
	r, w := io.Pipe()
	go func() { w.Write([]byte(frame("ADDED", named("a")))) }()
	for _, err := range protobuf.Frames(r, 0, func(codec.Frame) (int, error) { return 0, nil }) {
		if err != nil {
			t.Error(err)
		}
		break // or it would wait for ever
	}
	r.Close()
}

func items(r io.Reader, max int) (string, codec.ListMeta) {
	meta, seq := protobuf.Items(r, max)
	s := delivered(seq, func(b []byte) string {
		id, err := codec.Skim(b)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s %s %s/%s", id.APIVersion, id.Kind, id.Namespace, id.Name)
	})
	return s, *meta
}

func TestItems(t *testing.T) {
	item := func(name string, more ...string) string {
		return field(2, field(1, field(1, name), field(3, "ns")), strings.Join(more, ""))
	}
	meta := field(1, field(1), field(2, "12"), field(3, "token"), number(4, 7))
	full := codec.ListMeta{APIVersion: "v1", Kind: "PodList", ResourceVersion: "12", Continue: "token", Remaining: 7}
	kind := codec.ListMeta{APIVersion: "v1", Kind: "PodList", Remaining: -1}
	for _, c := range []struct {
		about, in, want string
		meta            codec.ListMeta
	}{
		{"items", list(meta, item("a"), item("b")) + field(3) + field(4), "v1 Pod ns/a\nv1 Pod ns/b\n", full},
		{"an empty list", list(meta), "", full},
		{"the metadata last", list(item("a"), meta), "v1 Pod ns/a\n", full},
		{"unknown fields", list(meta, number(9, 5), field(8, "x"), item("a")), "v1 Pod ns/a\n", full},
		{"nothing", "", "body truncated inside a list at byte 0: unexpected EOF\n", codec.ListMeta{Remaining: -1}},
		{"JSON", `{"kind":"PodList"}`, "invalid protobuf at byte 4: it does not begin as an object does\n", codec.ListMeta{Remaining: -1}},
		{"an object", string(named("a")), "not a list: kind is Pod\n", codec.ListMeta{APIVersion: "v1", Kind: "Pod", Remaining: -1}},
		{"a kind that nobody shows", string(object("v1", "P\x1b[31m")), "not a list: neither a list kind nor items\n", codec.ListMeta{APIVersion: "v1", Kind: "P\x1b[31m", Remaining: -1}},
		{"cut behind the kind", list()[:19], "body truncated inside a list at byte 19: unexpected EOF\n", kind},
		{"cut before the kind", "k8s\x00", "body truncated inside a list at byte 4: unexpected EOF\n", codec.ListMeta{Remaining: -1}},
		{"a length that no list has", list()[:19] + "\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "body truncated inside a list at byte 29: unexpected EOF\n", kind},
		{"an item of gigabytes", list()[:19] + "\x12\xff\xff\xff\xff\x0f\x12\xff\xff\xff\xff\x0e", "item above the limit of 1000 bytes\n", kind},
		{"cut in an item", list(meta, item("a"), item("b"))[:58], "v1 Pod ns/a\nbody truncated inside a item at byte 51: unexpected EOF\n", full},
		{"cut between items", list(meta, item("a"), item("b"))[:49], "v1 Pod ns/a\nbody truncated inside a list at byte 49: unexpected EOF\n", full},
		{"an item longer than the list", list(meta, "\x12\x70x"), "invalid protobuf at byte 40: an item that is longer than its list\n", full},
		{"an item that is no object", list(meta, field(2, "\xff\xff"), item("b")), "invalid protobuf at byte 0: it ends too early\nv1 Pod ns/b\n", full},
		{"too large", list(meta, item("a", field(3, strings.Repeat("x", 2000))), item("b")), "Pod \"ns/a\" of 2012 bytes: item above the limit of 1000 bytes\nv1 Pod ns/b\n", full},
		{"too large without a name", list(meta, field(2, field(3, strings.Repeat("x", 2000)), field(1, field(1, "a")))), "item above the limit of 1000 bytes\n", full},
		{"a large kind", string(object("v1", strings.Repeat("x", 1000)+"List")), "list kind above the limit of 600 bytes\n", codec.ListMeta{Remaining: -1}},
		{"a large revision", list(field(1, field(2, strings.Repeat("x", 2000)))), "resource version of a list above the limit of 1024 bytes\n", kind},
		{"large metadata", list(field(1, field(9, strings.Repeat("x", 2<<20)))), "list metadata above the limit of 1048576 bytes\n", kind},
		{"a field of another type", list(number(2, 1)), "", kind},
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)), "with EOF": iotest.DataErrReader(strings.NewReader(c.in))} {
			got, meta := items(r, 1000)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.about, name, diff)
			}
			if diff := cmp.Diff(c.meta, meta); diff != "" {
				t.Errorf("%s, %s: metadata (-want +got):\n%s", c.about, name, diff)
			}
		}
	}
}

// TestItemsTakeTheMemoryOfOne: lengths that a body does not keep cost nothing.
func TestItemsTakeTheMemoryOfOne(t *testing.T) {
	claim := "k8s\x00" + field(1, field(1, "v1"), field(2, "PodList")) + "\x12\xff\xff\xff\xff\x0f\x12\xff\xff\xff\x07x"
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, _ := items(strings.NewReader(claim), 0); !strings.Contains(got, io.ErrUnexpectedEOF.Error()) {
				b.Fatal(got)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<20 {
		t.Errorf("%d bytes for an item that never came", allocated)
	}
}

// FuzzStreams: whatever comes, the sequences end, with an error or without.
func FuzzStreams(f *testing.F) {
	f.Add([]byte(frame("ADDED", named("a")) + frame("BOOKMARK", named(""))))
	f.Add([]byte(list(field(1, field(2, "12")), field(2, field(1, field(1, "a"))))))
	f.Add([]byte(list(field(1, field(3, "t"), number(4, 1)), field(2, strings.Repeat("x", 300)))))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		for max := range 3 {
			whole, small := frames(bytes.NewReader(b), 100*max), frames(iotest.OneByteReader(bytes.NewReader(b)), 100*max)
			if whole != small {
				t.Errorf("frames: %q at once, %q byte by byte", whole, small)
			}
			list, meta := items(bytes.NewReader(b), 100*max)
			again, same := items(iotest.OneByteReader(bytes.NewReader(b)), 100*max)
			if list != again || meta != same {
				t.Errorf("items: %q at once, %q byte by byte", list, again)
			}
		}
		if !bytes.Equal(b, before) {
			t.Error("it changed its input")
		}
	})
}

// TestErrorsOfTheBody: an error of the reader is the last element.
func TestErrorsOfTheBody(t *testing.T) {
	broken := errors.New("broken")
	body := io.MultiReader(strings.NewReader(frame("ADDED", named("a"))+"\x00"), iotest.ErrReader(broken))
	var last error
	for _, err := range protobuf.Frames(body, 0, func(codec.Frame) (int, error) { return 0, nil }) {
		last = err
	}
	if !errors.Is(last, broken) {
		t.Errorf("frames: %v", last)
	}
	body = io.MultiReader(strings.NewReader(list(field(2, "x"))[:10]), iotest.ErrReader(broken))
	_, seq := protobuf.Items(body, 0)
	for _, err := range seq {
		last = err
	}
	if !errors.Is(last, broken) {
		t.Errorf("items: %v", last)
	}
}
