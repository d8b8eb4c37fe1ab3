package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func items2(r io.Reader, max int) (ListMeta, []string, error) {
	meta, seq := Items(r, max)
	var got []string
	for item, err := range seq {
		if err != nil {
			return *meta, got, err
		}
		got = append(got, string(item))
	}
	return *meta, got, nil
}

func TestItems(t *testing.T) {
	tests := []struct {
		name, body string
		meta       ListMeta
		want       []string
	}{
		{"typed list",
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"tok","remainingItemCount":12},"items":[{"metadata":{"name":"a"}},{}]}` + "\n",
			ListMeta{Kind: "PodList", APIVersion: "v1", ResourceVersion: "7", Continue: "tok", Remaining: 12},
			[]string{`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`, `{"kind":"Pod","apiVersion":"v1"}`}},
		{"custom resources name their kind",
			`{"apiVersion":"x.io/v1","items":[{"apiVersion":"x.io/v1","kind":"Foo"},{"metadata":{},"kind":"Foo"}],"kind":"FooList","metadata":{"resourceVersion":"7"}}`,
			ListMeta{Kind: "FooList", APIVersion: "x.io/v1", ResourceVersion: "7", Remaining: -1},
			[]string{`{"apiVersion":"x.io/v1","kind":"Foo"}`, `{"metadata":{},"kind":"Foo"}`}},
		{"everything behind the items",
			`{"items":[{"a":1}],"metadata":{"resourceVersion":"7"},"apiVersion":"v1","kind":"PodList"}`,
			ListMeta{Kind: "PodList", APIVersion: "v1", ResourceVersion: "7", Remaining: -1},
			[]string{`{"a":1}`}},
		{"null items", `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}`,
			ListMeta{Kind: "PodList", APIVersion: "v1", Remaining: -1}, nil},
		{"no items", `{"kind":"PodList","apiVersion":"v1","metadata":null}`,
			ListMeta{Kind: "PodList", APIVersion: "v1", Remaining: -1}, nil},
		{"empty items", `{"kind":"PodList","apiVersion":"v1","items":[ ]}`,
			ListMeta{Kind: "PodList", APIVersion: "v1", Remaining: -1}, nil},
		{"other members, pretty-printed", "{\n \"kind\": \"PodList\", \"other\": {\"items\":[1,2]}, \"apiVersion\": \"v1\",\n \"items\": [\n  {\n \"a\" : 1 } ,\n {\"b\":2} ],\n \"more\": [[[]]]\n}\n",
			ListMeta{Kind: "PodList", APIVersion: "v1", Remaining: -1},
			[]string{"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\n \"a\" : 1 }", `{"kind":"Pod","apiVersion":"v1","b":2}`}},
		{"kind List", `{"kind":"List","apiVersion":"v1","items":[{"a":1}]}`,
			ListMeta{Kind: "List", APIVersion: "v1", Remaining: -1}, []string{`{"a":1}`}},
		{"a kind that does not end in List", `{"kind":"Foos","apiVersion":"x.io/v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"Foo","apiVersion":"x.io/v1"},{"a":1}]}`,
			ListMeta{Kind: "Foos", APIVersion: "x.io/v1", ResourceVersion: "7", Remaining: -1}, []string{`{"kind":"Foo","apiVersion":"x.io/v1"}`, `{"a":1}`}},
		{"a kind that does not end in List, as custom resources come", `{"apiVersion":"x.io/v1","items":[],"kind":"Foos","metadata":{"resourceVersion":"7"}}`,
			ListMeta{Kind: "Foos", APIVersion: "x.io/v1", ResourceVersion: "7", Remaining: -1}, nil},
		{"a negative number of items remaining", `{"kind":"List","apiVersion":"v1","metadata":{"remainingItemCount":-7},"items":[]}`,
			ListMeta{Kind: "List", APIVersion: "v1", Remaining: -1}, nil},
		{"sharded", `{"kind":"PodList","apiVersion":"v1","metadata":{"shardInfo":{"selector":"s"}},"items":[]}`,
			ListMeta{Kind: "PodList", APIVersion: "v1", Remaining: -1, Sharded: true}, nil},
		{"an item that is no object is the decoder's matter", `{"kind":"PodList","apiVersion":"v1","items":[null,1,"x"]}`,
			ListMeta{Kind: "PodList", APIVersion: "v1", Remaining: -1}, []string{"null", "1", `"x"`}},
		{"table",
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["a"],"object":{}},{"cells":["b"],"object":{}}]}`,
			ListMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1", ResourceVersion: "7", Remaining: -1},
			[]string{
				`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["a"],"object":{}}]}`,
				`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":null,"rows":[{"cells":["b"],"object":{}}]}`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for n := 1; n <= len(test.body)+1; n++ {
				meta, got, err := items2(&chunked{b: []byte(test.body), n: n}, 0)
				if err != nil {
					t.Fatalf("chunks of %d: %v", n, err)
				}
				if diff := cmp.Diff(test.meta, meta); diff != "" {
					t.Fatalf("chunks of %d: metadata (-want +got):\n%s", n, diff)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatalf("chunks of %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func TestItemsRefusesWhatIsNoList(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"a Status", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":500}`, "not a list: kind is Status"},
		{"an object with items", `{"kind":"Foo","apiVersion":"v1","metadata":{"name":"a"},"items":[{}]}`, "not a list: kind is Foo"},
		{"an object with items before its name", `{"kind":"Foo","apiVersion":"v1","items":[{}],"metadata":{"name":"a"}}`, "not a list: kind is Foo"},
		{"an object with items and a UID", `{"metadata":{"uid":"a"},"items":[{}]}`, "not a list: neither a list kind nor items"},
		{"an object of another kind", `{"kind":"Foo","apiVersion":"v1","metadata":{}}`, "not a list: kind is Foo"},
		{"a Status with items", `{"kind":"Status","apiVersion":"v1","items":[{}]}`, "not a list: kind is Status"},
		{"an object", `{"metadata":{},"data":{}}`, "not a list: neither a list kind nor items"},
		{"kind with odd letters", `{"kind":"a secret!"}`, "not a list: neither a list kind nor items"},
		{"an object with its kind behind its items", `{"items":[{}],"kind":"Foo","metadata":{"name":"a"}}`, "not a list: kind is Foo"},
		{"a table with its kind behind its rows", `{"rows":[{}],"kind":"Table"}`, "invalid JSON at byte 28: rows of a Table before its kind"},
		{"HTML", "<html>", "invalid JSON at byte 0: list expected"},
		{"an array", "[{}]", "invalid JSON at byte 0: list expected"},
		{"items are an object", `{"kind":"PodList","items":{}}`, "invalid JSON at byte 26: items of a list are not an array"},
		{"kind is a number", `{"kind":1}`, "invalid JSON at byte 9: kind or apiVersion of a list is not a string"},
		{"metadata is an array", `{"metadata":[]}`, "decode: array into "},
		{"two lists", `{"kind":"PodList","items":[]}{}`, "invalid JSON at byte 29: more than one value"},
		{"no comma", `{"kind":"PodList","items":[{} {}]}`, "invalid JSON at byte 30: comma or closing bracket expected"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := items2(strings.NewReader(test.body), 0)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestItemsCutAnywhereIsUnexpectedEOF(t *testing.T) {
	const body = `{"kind":"PodList","apiVersion":"v1","metadata":{"a":1},"items":[{"a":1},{"b":2}],"x":1}`
	for n := range len(body) {
		if _, _, err := items2(strings.NewReader(body[:n]), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func TestItemsLimitsItemsAndMetadataButNotTheList(t *testing.T) {
	long := strings.Repeat("x", 200000)
	tests := []struct{ name, body, want string }{
		{"item", `{"kind":"PodList","apiVersion":"v1","items":[{"a":"` + long + `"}]}`, "item above the limit of 100000 bytes"},
		{"metadata", `{"metadata":{"a":"` + long + `"}}`, "list metadata above the limit of 100000 bytes"},
		{"columns", `{"columnDefinitions":["` + long + `"]}`, "column definitions above the limit of 100000 bytes"},
		{"kind", `{"kind":"` + long + `"}`, "list kind above the limit of 256 bytes"},
		{"kind, a little", `{"kind":"` + long[:300] + `"}`, "list kind above the limit of 256 bytes"},
		{"kind, just", `{"kind":"` + long[:250] + `","items":[]}`, "<nil>"},
		{"apiVersion", `{"apiVersion":"` + long + `"}`, "list kind above the limit of 256 bytes"},
		{"revision", `{"metadata":{"resourceVersion":"` + long[:2000] + `"}}`, "resource version of a list above the limit of 1024 bytes"},
		{"name", `{"` + long + `":1}`, "list above the limit of 100000 bytes"},
		{"other member", `{"kind":"PodList","x":"` + long + `"}`, "<nil>"},
		{"many items", `{"kind":"PodList","items":[{}` + strings.Repeat(",{}", 100000) + `]}`, "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := items2(strings.NewReader(test.body), 100000); fmt.Sprint(err) != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// passed is what Items yields of a list, errors of single items among it.
func passed(r io.Reader, max int) (got []string, err error) {
	_, seq := Items(r, max)
	for item, err := range seq {
		var bad *ItemError
		switch {
		case errors.As(err, &bad):
			id := bad.Identity
			got = append(got, fmt.Sprintf("%s %s %s/%s %s %s: %d bytes, %v", id.APIVersion, id.Kind, id.Namespace, id.Name, id.UID, id.ResourceVersion, bad.Size, bad.Err))
			if !IsItem(err) || !errors.Is(err, ErrTooLarge) || item != nil {
				return got, fmt.Errorf("%w with %d bytes", err, len(item))
			}
		case err != nil:
			return got, err
		default:
			got = append(got, string(item))
		}
	}
	return got, nil
}

func TestItemsPassesOverAnItemAboveTheLimit(t *testing.T) {
	const (
		max  = 400
		meta = `"metadata":{"name":"b","namespace":"n","uid":"u","resourceVersion":"7","annotations":{"\u00e4":"ä"}}`
	)
	long := strings.Repeat("ä]}\\\"", 400)
	spec := `"spec":{"x":["` + long + `",{}]}`
	tests := []struct{ name, before, item, after, want string }{
		{"typed list", `{"kind":"PodList","apiVersion":"v1","items":[{"a":1},`, `{` + meta + `,` + spec + `}`, `,{"c":1}]}`, "v1 Pod n/b u 7"},
		{"its own kind", `{"kind":"PodList","apiVersion":"v1","items":[{"a":1},`, `{"kind":"K","apiVersion":"x/v2",` + meta + `,` + spec + `}`, `,{"c":1}]}`, "x/v2 K n/b u 7"},
		{"kind of the list behind", `{"items":[{"a":1},`, `{` + meta + `,` + spec + `}`, `,{"c":1}],"kind":"PodList"}`, "  n/b u 7"},
		{"white space", "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[\n{\"a\":1},\n", "{" + strings.ReplaceAll(meta, ":", " : ") + ",\n" + spec + "\n}", "\n,\n{\"c\":1}\n]\n}\n", "v1 Pod n/b u 7"},
		{"name only", `{"kind":"PodList","apiVersion":"v1","items":[{"a":1},`, `{"metadata":{"name":"b","annotations":{"x":"` + long + `"},"uid":"u"}}`, `,{"c":1}]}`, "v1 Pod /b  "},
		{"invalid UTF-8", `{"kind":"PodList","apiVersion":"v1","items":[{"a":1},`, "{\"metadata\":{\"name\":\"b\xff\"}," + spec + `}`, `,{"c":1}]}`, "v1 Pod /b\ufffd\ufffd  "},
		{"row of a Table", `{"kind":"Table","apiVersion":"m/v1","rows":[{"a":1},`, `{"cells":["b"],"object":{"kind":"P","apiVersion":"v1",` + meta + `,` + spec + `}}`, `,{"c":1}]}`, "m/v1 Table n/b u 7"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body := test.before + test.item + test.after
			small, err := passed(strings.NewReader(test.before+"null"+test.after), max)
			if err != nil || len(small) != 3 {
				t.Fatalf("without it: %q, %v", small, err)
			}
			want := []string{small[0], fmt.Sprintf("%s: %d bytes, item above the limit of %d bytes", test.want, len(test.item), max), small[2]}
			for _, n := range []int{1, 7, 350, len(body)} {
				got, err := passed(&chunked{b: []byte(body), n: n}, max)
				if err != nil {
					t.Fatalf("chunks of %d: %v", n, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("chunks of %d (-want +got):\n%s", n, diff)
				}
			}
			for n := len(test.before) + max + 1; n < len(body)-1; n += 11 {
				if got, err := passed(strings.NewReader(body[:n]), max); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("cut at %d: %q, %v", n, got, err)
				}
			}
		})
	}
}

// TestItemsEndsWhereNobodyKnowsWhatIsMissing: an item that is left out without
// its name would be taken for one that was deleted.
func TestItemsEndsWhereNobodyKnowsWhatIsMissing(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, item := range []string{
		`{"data":"` + long + `","metadata":{"name":"b"}}`,
		`{"metadata":{"name":"` + long + `"}}`,
		`{"metadata":{"name":5},"data":"` + long + `"}`,
		`["` + long + `"]`,
		`"` + long + `"`,
	} {
		got, err := passed(strings.NewReader(`{"kind":"PodList","items":[{"a":1},`+item+`,{"c":1}]}`), 100)
		if limit := (*LimitError)(nil); !errors.As(err, &limit) || limit.What != "item" || len(got) != 1 {
			t.Errorf("%.30s: %q, %v", item, got, err)
		}
	}
}

func TestItemAboveTheLimitDoesNotTakeTheMemory(t *testing.T) {
	const max = 2 << 20
	body := io.MultiReader(
		strings.NewReader(`{"kind":"PodList","items":[{"metadata":{"name":"a"},"x":"`),
		&repeat{b: bytes.Repeat([]byte("x"), 4096), n: 16 << 20 / 4096},
		strings.NewReader(`"},{"metadata":{"name":"b"}}]}`))
	l := &items{w: newWindow(body, "list", max)}
	largest, n := 0, 0
	l.yield = func(item []byte, err error) bool {
		if n++; (err != nil) != (n == 1) {
			t.Errorf("item %d: %q, %v", n, item, err)
		}
		largest = cap(l.w.buf)
		return true
	}
	if err := l.read(); err != nil || n != 2 {
		t.Fatalf("%d items, %v", n, err)
	}
	if largest > keepAtEnd {
		t.Errorf("a buffer of %d bytes is kept behind the item", largest)
	}
}

// TestLimitOfAnySize: the largest number is no limit.
func TestLimitOfAnySize(t *testing.T) {
	item := `{"metadata":{"name":"` + strings.Repeat("x", 1<<18) + `"}}`
	meta, got, err := items2(strings.NewReader(`{"kind":"List","items":[`+item+`]}`), math.MaxInt)
	if err != nil || len(got) != 1 || got[0] != item {
		t.Errorf("%d items of %v, %v", len(got), meta, err)
	}
	for f, err := range Frames(strings.NewReader(`{"type":"ADDED","object":`+item+`}`), math.MaxInt, func(f Frame) (string, error) { return string(f.Object), nil }) {
		if err != nil || f != item {
			t.Errorf("a frame of %d bytes, %v", len(f), err)
		}
	}
}

func TestItemsLimitsMetadataOfALargeList(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	for body, want := range map[string]string{
		`{"metadata":{"a":"` + long + `"}}`:      "list metadata above the limit of 1048576 bytes",
		`{"columnDefinitions":["` + long + `"]}`: "column definitions above the limit of 1048576 bytes",
	} {
		if _, _, err := items2(strings.NewReader(body), 0); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestItemsStopsWhenTheLoopBreaks(t *testing.T) {
	_, seq := Items(strings.NewReader(`{"kind":"PodList","items":[{},{`), 0)
	n := 0
	for range seq {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d items", n)
	}
}

func FuzzItems(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{}]}`), uint64(1))
	f.Add([]byte(`{"items":[{"kind":"A"},1],"kind":"List"}`), uint64(2))
	f.Add([]byte(`{"kind":"Table","columnDefinitions":[],"rows":[{"object":{}}],"metadata":null}`), uint64(3))
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		meta, got, err := items2(bytes.NewReader(body), 1000)
		meta2, split, splitErr := items2(&chunked{b: body, r: rand.New(rand.NewPCG(seed, 0))}, 1000)
		if diff := cmp.Diff(got, split); diff != "" {
			t.Errorf("boundaries matter (-whole +split):\n%s", diff)
		}
		if meta != meta2 || fmt.Sprint(err) != fmt.Sprint(splitErr) {
			t.Errorf("boundaries matter: %v, %v", err, splitErr)
		}
		if len(body) > 1000 || !json.Valid(body) {
			return
		}
		for _, item := range got {
			if !json.Valid([]byte(item)) {
				t.Errorf("item is not JSON: %s", item)
			}
		}
		// One array of items and nothing odd: the same as encoding/json finds.
		if bytes.Count(body, []byte("items")) != 1 || bytes.Contains(body, []byte(`\`)) {
			return
		}
		var want struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if err == nil && json.Unmarshal(body, &want) == nil && len(want.Items) > 0 && want.Kind != "Table" && len(want.Items) != len(got) {
			t.Errorf("%d items, want %d", len(got), len(want.Items))
		}
	})
}
