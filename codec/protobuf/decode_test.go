package protobuf_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
)

// pod names a field of each sort.
type pod struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	kube.Meta  `json:"metadata"`
	Spec       struct {
		NodeName   string `json:"nodeName"`
		Priority   *int8  `json:"priority"`
		Network    *bool  `json:"hostNetwork"`
		Containers []struct {
			Name      *string  `json:"name"`
			Command   []string `json:"command"`
			Resources struct {
				Requests map[string]string `json:"requests"`
			} `json:"resources"`
			Liveness *struct {
				Initial uint16 `json:"initialDelaySeconds"`
				HTTP    *struct {
					Path string `json:"path"`
				} `json:"httpGet"` // a member of a message that is inline
			} `json:"livenessProbe"`
		} `json:"containers"`
		Security *struct {
			Groups []int64 `json:"supplementalGroups"`
		} `json:"securityContext"`
	} `json:"spec"`
	Status *struct {
		Phase      word       `json:"phase"`
		Start      *time.Time `json:"startTime"`
		Conditions []struct {
			Since time.Time `json:"lastTransitionTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// word reads its JSON itself.
type word struct{ text string }

func (w *word) UnmarshalJSON(b []byte) error {
	if string(b) == `"refused"` {
		return errors.New("refused")
	}
	w.text = "read " + string(b)
	return nil
}

func (w word) Equal(o word) bool { return w == o }

func field(number int, parts ...string) string {
	body := strings.Join(parts, "")
	b := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return string(binary.AppendUvarint(b, uint64(len(body)))) + body
}

func number(number int, n uint64) string {
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3), n))
}

func object(apiVersion, kind string, parts ...string) []byte {
	return []byte("k8s\x00" + field(1, field(1, apiVersion), field(2, kind)) + field(2, parts...))
}

const meta, spec, status = 1, 2, 3

// odd are objects of one kind of oddity each, and usual ones.
var odd = map[string][]byte{
	"nothing":                      object("v1", "Pod"),
	"metadata in pieces":           object("v1", "Pod", field(meta, field(1, "a")), field(meta, field(3, "ns"))),
	"a name twice":                 object("v1", "Pod", field(meta, field(1, "a"), field(1, "b"))),
	"an empty name at last":        object("v1", "Pod", field(meta, field(1, "a"), field(1))),
	"a list in pieces":             object("v1", "Pod", field(spec, field(2, field(1, "a")), field(10, "node"), field(2, field(1, "b")))),
	"a map in pieces":              object("v1", "Pod", field(meta, field(11, field(1, "a"), field(2, "1")), field(1, "n"), field(11, field(1, "b"), field(2, "2")))),
	"an entry twice":               object("v1", "Pod", field(meta, field(11, field(1, "a"), field(2, "1")), field(11, field(1, "a"), field(2, "2")))),
	"an entry without a key":       object("v1", "Pod", field(meta, field(11, field(2, "1")))),
	"an entry without a value":     object("v1", "Pod", field(meta, field(11, field(1, "a")))),
	"an entry with more":           object("v1", "Pod", field(meta, field(11, field(1, "a"), field(2, "1"), field(3, "x")))),
	"an entry's key twice":         object("v1", "Pod", field(meta, field(11, field(1, "a"), field(1, "b"), field(2, "1")))),
	"packed numbers":               object("v1", "Pod", field(spec, field(14, field(4, "\x01\x02\x03")))),
	"numbers":                      object("v1", "Pod", field(spec, field(14, number(4, 1), number(4, 1<<64-2)))),
	"a number that does not fit":   object("v1", "Pod", field(spec, number(25, 1000))),
	"a number that fits":           object("v1", "Pod", field(spec, number(25, 1<<64-5))),
	"a negative number":            object("v1", "Pod", field(spec, field(2, field(1, "c"), field(10, number(2, 1<<64-1))))),
	"a large number as an int32":   object("v1", "Pod", field(spec, number(25, 7<<32|5))),
	"no bool":                      object("v1", "Pod", field(spec, number(11, 0))),
	"a bool of two":                object("v1", "Pod", field(spec, number(11, 2))),
	"an empty name of a container": object("v1", "Pod", field(spec, field(2, field(1)), field(2))),
	"a member of an inline one":    object("v1", "Pod", field(spec, field(2, field(1, "c"), field(10, field(1, field(2, field(1, "/"))), number(2, 5))))),
	"requests":                     object("v1", "Pod", field(spec, field(2, field(8, field(2, field(1, "cpu"), field(2, field(1, "1")))), field(1, "c")))),
	"an empty quantity":            object("v1", "Pod", field(spec, field(2, field(8, field(2, field(1, "cpu"), field(2)))))),
	"no status":                    object("v1", "Pod", field(meta), field(spec)),
	"a phase that is refused":      object("v1", "Pod", field(status, field(1, "refused"))),
	"a phase":                      object("v1", "Pod", field(status, field(1, "Running"))),
	"an empty phase":               object("v1", "Pod", field(status, field(1))),
	"no time":                      object("v1", "Pod", field(status, field(7), field(2, field(4)))),
	"the zero time at length":      object("v1", "Pod", field(status, field(7, number(1, 1<<64-62135596800)))),
	"the epoch":                    object("v1", "Pod", field(status, field(7, number(1, 0), number(2, 0)))),
	"a time with nanoseconds":      object("v1", "Pod", field(status, field(7, number(1, 1_700_000_000), number(2, 5)))),
	"a time with less than none":   object("v1", "Pod", field(status, field(7, number(1, 5), number(2, 1<<64-1)))),
	"a time after all years":       object("v1", "Pod", field(status, field(7, number(1, 1<<40)))),
	"text that is no text":         object("v1", "Pod", field(meta, field(1, "a\xff\xfe\"<"), field(11, field(1, "k\xff"), field(2, "v\xc3")))),
	"a long text":                  object("v1", "Pod", field(meta, field(12, field(1, "k"), field(2, strings.Repeat("x", 5000))))),
	"a field of another type":      object("v1", "Pod", field(meta, number(1, 5))),
	"a skipped field that is cut":  object("v1", "Pod", field(meta, field(17, "\x0a\x7f"))),
	"groups":                       object("v1", "Pod", field(meta, "\xa3\x06"+field(1, "x")+"\xa4\x06", field(1, "a"))),
	"no message":                   []byte("k8s\x00" + field(1, field(1, "v1"), field(2, "Pod"))),
	"a tag of zero":                object("v1", "Pod", "\x02\x00"),
	"many strings":                 object("v1", "Pod", field(meta, strings.Repeat(field(14, "finalizer-of-some-length"), 3000))),
	"many labels":                  object("v1", "Pod", field(meta, labels(3000))),
}

func labels(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(field(11, field(1, "key-"+string(rune('a'+i%26))+strings.Repeat("k", i/26)), field(2, "v")))
	}
	return b.String()
}

// TestOddObjects: what is odd gives what its JSON gives.
func TestOddObjects(t *testing.T) {
	for about, b := range odd {
		t.Run(about, func(t *testing.T) { agree(t, b) })
	}
}

// agree checks that b is decoded as its JSON is. Where b is read though it cannot be
// translated, in what is not wanted, only that there is no panic.
func agree(t *testing.T, b []byte) {
	decode, ok := protobuf.DecoderOf[pod]("v1", "Pod")
	if !ok {
		t.Fatal("no plan")
	}
	got, err := decode(b)
	text, untranslated := protobuf.JSON(b)
	if untranslated != nil {
		var zero pod
		if diff := cmp.Diff(zero, got); err != nil && diff != "" {
			t.Errorf("an error and a value: %s", diff)
		}
		return
	}
	want, wantErr := codec.Decode[pod](text)
	if (err == nil) != (wantErr == nil) && want.Kind == "Pod" {
		t.Fatalf("protobuf: %v, JSON: %v", err, wantErr)
	}
	if diff := cmp.Diff(want, got); diff != "" && err == nil {
		t.Errorf("(-JSON +protobuf):\n%s", diff)
	}
}

// FuzzDecoder: what the fastDecoder takes it takes as it is translated.
func FuzzDecoder(f *testing.F) {
	for _, b := range odd {
		if len(b) < 1<<10 { // a fuzzer spends its time on long ones
			f.Add(b)
		}
	}
	b, err := os.ReadFile(filepath.Join("..", "..", "internal", "protojson", "testdata", "Pod.pb"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(agree)
}

// TestNoPlan: what only JSON can fill has no decoder.
func TestNoPlan(t *testing.T) {
	for about, ok := range map[string]bool{
		"an unknown kind":   has[kube.Partial]("v1", "Gizmo"),
		"a kind of another": has[kube.Partial]("apps/v1", "Pod"),
		"Raw":               has[codec.Raw]("v1", "Pod"),
		"RawFull":           has[codec.RawFull]("v1", "Pod"),
		"a map":             has[map[string]any]("v1", "Pod"),
		"a field of nobody": has[struct{ Colour string }]("v1", "Pod"),
		"an interface":      has[struct{ Spec any }]("v1", "Pod"),
		"raw JSON": has[struct {
			Spec json.RawMessage `json:"spec"`
		}]("v1", "Pod"),
		"a string of a message": has[struct {
			Spec string `json:"spec"`
		}]("v1", "Pod"),
		"letter case": has[struct {
			Spec struct{} `json:"SPEC"`
		}]("v1", "Pod"),
		"the option string": has[struct {
			Metadata struct {
				Generation int `json:"generation,string"`
			} `json:"metadata"`
		}]("v1", "Pod"),
		"a number of a string": has[struct {
			Metadata struct {
				Name int `json:"name"`
			} `json:"metadata"`
		}]("v1", "Pod"),
		"a type in itself": has[struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						Top schema `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}]("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
	} {
		if ok {
			t.Errorf("%s has a decoder", about)
		}
	}
	if !has[*kube.Partial]("apps/v1", "Deployment") {
		t.Error("a pointer has none")
	}
}

type schema struct {
	Not *schema `json:"not"`
}

func has[T any](apiVersion, kind string) bool {
	_, ok := protobuf.DecoderOf[T](apiVersion, kind)
	return ok
}

// TestErrorsQuoteNothing: what is refused is not quoted, and what is too large takes no
// memory.
func TestErrorsQuoteNothing(t *testing.T) {
	const secret = "hunter2"
	var syntax *codec.SyntaxError
	var mismatch *codec.DecodeError
	decode, _ := protobuf.DecoderOf[pod]("v1", "Pod")
	for about, c := range map[string]struct {
		in   []byte
		want any
	}{
		"JSON":            {[]byte(`{"a":"` + secret + `"}`), &syntax},
		"cut":             {object("v1", "Pod", field(meta, field(1, secret)))[:24], &syntax},
		"another kind":    {object("v1", secret), &mismatch},
		"another version": {object(secret, "Pod"), &mismatch},
		"a bad priority":  {object("v1", "Pod", field(meta, field(1, secret)), field(spec, number(25, 1000))), &mismatch},
	} {
		got, err := decode(c.in)
		if !errors.As(err, c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", about, err)
		}
		if diff := cmp.Diff(pod{}, got); diff != "" {
			t.Errorf("%s: a value: %s", about, diff)
		}
	}
	heavy := object("v1", "Pod", field(spec, strings.Repeat(field(2), 4<<20)))
	if _, err := decode(heavy); !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("heavy: %v", err)
	}
}

// TestMicroTime: a time has the microseconds of the JSON, and none of a Time.
func TestMicroTime(t *testing.T) {
	type lease struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			Renew time.Time `json:"renewTime"`
		} `json:"spec"`
	}
	decode, ok := protobuf.DecoderOf[lease]("coordination.k8s.io/v1", "Lease")
	if !ok {
		t.Fatal("no plan")
	}
	at := number(1, 1_700_000_000) + number(2, 123_456_789)
	got, err := decode(object("coordination.k8s.io/v1", "Lease", field(meta, field(8, at)), field(spec, field(4, at))))
	want := lease{Meta: kube.Meta{CreationTimestamp: time.Unix(1_700_000_000, 0).UTC()}}
	want.Spec.Renew = time.Unix(1_700_000_000, 123_456_000).UTC()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestLargeLists: a list that would take too much memory is refused before it is
// allocated, also where int has 32 bits and length times size overflows.
func TestLargeLists(t *testing.T) {
	type volume struct {
		Name string        `json:"name"`
		Pad  [1 << 10]byte `json:"-"`
	}
	type large struct {
		Spec struct {
			Volumes []volume `json:"volumes"`
		} `json:"spec"`
	}
	decode, ok := protobuf.DecoderOf[large]("v1", "Pod")
	if !ok {
		t.Fatal("no plan")
	}
	n := int(1<<32/int64(reflect.TypeFor[volume]().Size()) + 1)
	_, err := decode(object("v1", "Pod", field(spec, strings.Repeat(field(1), n))))
	if !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("%d volumes: %v", n, err)
	}
}

// TestCutObject: an object that is cut anywhere is an error.
func TestCutObject(t *testing.T) {
	decode, _ := protobuf.DecoderOf[pod]("v1", "Pod")
	whole := object("v1", "Pod", field(meta, field(1, "a")), field(spec, field(10, "node")))
	for n := range whole {
		if got, err := decode(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are %+v", n, len(whole), got)
		}
	}
}
