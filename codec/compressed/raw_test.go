package compressed

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// raw returns an object that is not packed.
func raw(t testing.TB, object string) Raw {
	t.Helper()
	r, err := codec.Decode[Raw]([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pack returns an object, packed by c.
func pack(t testing.TB, c *Compressor, object string) Raw {
	t.Helper()
	r, err := c.Compress(raw(t, object))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noise returns n letters and digits that do not compress well.
func noise(seed, n int) string {
	r, b := rand.New(rand.NewPCG(5, uint64(seed))), make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"[r.IntN(64)]
	}
	return string(b)
}

// objects are those in which something could go wrong.
func objects() map[string]string {
	var all cluster
	return map[string]string{
		"pod":            all.pod(1, 1),
		"pod as sent":    all.wire(2, 1),
		"nothing":        `{}`,
		"small":          `{"metadata":{"name":"a"}}`,
		"cluster scoped": `{"kind":"Node","metadata":{"name":"worker-17","uid":"u-1","resourceVersion":"12345"},"x":"` + strings.Repeat("node ", 50) + `"}`,
		"sorted by name": `{"apiVersion":"v1","kind":"X","metadata":{"annotations":{"a":"b"},"name":"example","namespace":"default","resourceVersion":"4711","uid":"0f6c1e1c-8a57"},"spec":"` + strings.Repeat("y", 200) + `"}`,
		"escaped":        `{"metadata":{"name":"\u0061bcde","namespace":"a\"b\\c","uid":"\u00e4\u00e4\u00e4","resourceVersion":"1234"},"x":"` + strings.Repeat("ä", 100) + `"}`,
		"parts of parts": `{"kind":"aaaa","metadata":{"name":"aaaa","namespace":"aaaaaaaa","uid":"aaaaaaaaaaaa","resourceVersion":"aaaa"},"x":"` + strings.Repeat("a", 200) + `"}`,
		"backwards":      `{"x":"` + strings.Repeat("z", 200) + `","metadata":{"resourceVersion":"12345","uid":"uid-uid","namespace":"spaces","name":"named"},"kind":"Pod"}`,
		"out of reach":   `{"x":"` + strings.Repeat("z", 2*reach) + `","metadata":{"resourceVersion":"12345","uid":"uid-uid","namespace":"spaces","name":"named"}}`,
		"table":          `{"kind":"Table","metadata":{"resourceVersion":"99999"},"rows":[{"cells":["x"],"object":{"metadata":{"name":"first","namespace":"default","uid":"first-uid"}}},{"object":{"metadata":{"name":"second"}}}]}`,
		"noise":          `{"metadata":{"name":"noise"},"data":"` + noise(1, 3000) + `"}`,
		"much noise":     `{"metadata":{"name":"noise"},"data":"` + noise(2, 100_000) + `"}`,
		"long name":      `{"metadata":{"name":"` + strings.Repeat("n", 100_000) + `"}}`,
		"64 KB":          `{"metadata":{"name":"limit"},"data":"` + strings.Repeat("0123456789abcdef", 4093) + `"}`,
		"large":          `{"metadata":{"name":"large"},"items":["` + strings.Repeat(noise(3, 1000)+`","`, 1000) + `"]}`,
	}
}

func TestRawReadsAsBefore(t *testing.T) {
	var all cluster
	var with Compressor
	for n := range 2 * first {
		pack(t, &with, all.pod(n, 1))
	}
	if got := with.Stats().Dictionaries; got != 1 {
		t.Fatalf("%d dictionaries, want 1", got)
	}
	for name, object := range objects() {
		full, err := codec.ParseRawFull([]byte(object))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var without Compressor
		for form, r := range map[string]Raw{"as it is": Of(full.Raw), "with a dictionary": compress(t, &with, Of(full.Raw)), "without": compress(t, &without, Of(full.Raw))} {
			t.Run(name+" "+form, func(t *testing.T) { same(t, full.Raw, r) })
		}
	}
}

func compress(t testing.TB, c *Compressor, r Raw) Raw {
	t.Helper()
	r, err := c.Compress(r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same checks that all that can be read of r is as want says.
func same(t testing.TB, want codec.Raw, r Raw) {
	t.Helper()
	got, err := r.Raw()
	if err != nil || got != want { // byte for byte
		t.Fatalf("got %d bytes, %v; want %d", got.MemorySize(), err, want.MemorySize())
	}
	type view struct {
		Key           kube.Key
		UID, Revision string
		Labels        map[string]string
		Owners        []kube.OwnerReference
		JSON          string
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		view{kube.KeyOf(want), want.GetUID(), want.GetResourceVersion(), want.GetLabels(), want.GetOwnerReferences(), string(wantJSON)},
		view{kube.KeyOf(r), r.GetUID(), r.GetResourceVersion(), r.GetLabels(), r.GetOwnerReferences(), string(b)},
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.MemorySize() > want.MemorySize() {
		t.Errorf("%d bytes, more than the %d of before", r.MemorySize(), want.MemorySize())
	}
	var into, wantInto map[string]any
	if err := r.Decode(&into); err != nil {
		t.Error(err)
	}
	if err := want.Decode(&wantInto); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(wantInto, into); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestRawZeroIsNoObject(t *testing.T) {
	var c Compressor
	for _, r := range []Raw{{}, Of(codec.Raw{}), compress(t, &c, Raw{})} {
		got, err := r.Raw()
		b, jsonErr := r.MarshalJSON()
		if !r.IsZero() || !got.IsZero() || err != nil || string(b) != "null" || jsonErr != nil || r.GetName() != "" || r.GetLabels() != nil || r.MemorySize() != 0 {
			t.Errorf("%v: got %q, %v, %q, %v", r, got.JSON(), err, b, jsonErr)
		}
	}
	if diff := cmp.Diff(Stats{}, c.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestRawUnmarshals(t *testing.T) {
	var list struct{ Items []Raw }
	if err := json.Unmarshal([]byte(`{"items":[{"metadata":{"name":"a","managedFields":[]}},null]}`), &list); err != nil {
		t.Fatal(err)
	}
	same(t, raw(t, `{"metadata":{"name":"a"}}`).whole(), list.Items[0])
	if !list.Items[1].IsZero() {
		t.Error("null is an object")
	}
	if err := json.Unmarshal([]byte(`{"items":["x"]}`), &list); err == nil {
		t.Error("a string is an object")
	}
}

// TestRawSaysThatItIsDamaged: cut anywhere, it is an error or another object.
func TestRawSaysThatItIsDamaged(t *testing.T) {
	beyond := "\x04\x00\x00\x00" + "name" + "\xff\x7f\x00\x00\x00" + string(s2.Encode(nil, []byte("{}")))
	if _, err := (Raw{packed: beyond}).Raw(); err == nil {
		t.Error("a part of the identity belongs behind the end, and no error")
	}
	var all cluster
	var c Compressor
	for n := range 2 * first {
		pack(t, &c, all.pod(n, 1))
	}
	for _, good := range []Raw{pack(t, &c, all.pod(99, 1)), pack(t, new(Compressor), all.pod(99, 1))} {
		want, err := good.Raw()
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < len(good.packed); n++ {
			bad := Raw{packed: good.packed[:n], from: good.from}
			if got, err := bad.Raw(); err == nil {
				t.Fatalf("cut at %d: %d bytes and no error", n, got.MemorySize())
			}
			bad.GetUID()
		}
		bad := Raw{packed: good.packed[:10] + "\x00" + good.packed[11:], from: good.from}
		if got, err := bad.Raw(); err == nil && got == want {
			t.Error("the change did not matter")
		}
		if _, err := (Raw{packed: "\xff", from: good.from}).MarshalJSON(); err == nil {
			t.Error("no error")
		}
	}
}

func TestPackingDoesNotAllocate(t *testing.T) {
	var all cluster
	var c Compressor
	for n := range first {
		pack(t, &c, all.pod(n, 1))
	}
	pod := raw(t, all.pod(99, 1)).whole()
	dict := c.dictionary()
	var s scratch
	packed := string(s.pack(pod, dict.encoder))
	if n := testing.AllocsPerRun(100, func() { s.pack(pod, dict.encoder) }); n != 0 {
		t.Errorf("pack: %v allocations besides what it returns, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := s.unpack(packed, dict.origin.dict); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("unpack: %v allocations, want 0", n)
	}
	r := Raw{packed: packed, from: dict.origin}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = kube.KeyOf(r), r.GetUID(), r.GetResourceVersion() }); n != 0 {
		t.Errorf("identity: %v allocations, want 0", n)
	}
}

// FuzzRoundTrip packs an object many times over, changed a little, so that it is
// packed with and without dictionaries of itself.
func FuzzRoundTrip(f *testing.F) {
	for _, object := range objects() {
		if len(object) < 10_000 {
			f.Add([]byte(object))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Compressor
		for n := range first + 4 {
			full, err := codec.ParseRawFull(b)
			if err != nil {
				return
			}
			r, err := c.Compress(Of(full.Raw))
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Raw()
			if err != nil || got != full.Raw {
				t.Fatalf("object %d: %v, got %q, want %q", n, err, got.JSON(), full.JSON())
			}
			if got, want := [...]string{r.GetNamespace(), r.GetName(), r.GetUID(), r.GetResourceVersion()}, [...]string{full.GetNamespace(), full.GetName(), full.GetUID(), full.GetResourceVersion()}; got != want {
				t.Fatalf("identity %q, want %q", got, want)
			}
			b = fmt.Appendf(nil, `{"n%d":%q,"of":%s}`, n, full.JSON()[:len(full.JSON())/2], full.JSON())
			if len(b) > 4_000 {
				b = []byte(full.JSON())
			}
		}
	})
}

// FuzzUnpack: whatever is in memory, nothing panics.
func FuzzUnpack(f *testing.F) {
	var all cluster
	dict := s2.MakeDict([]byte(all.pod(1, 1)), nil)
	for n := range 3 {
		var s scratch
		f.Add(string(s.pack(raw(f, all.pod(n, 1)).whole(), dict)))
		f.Add(string(s.pack(raw(f, all.pod(n, 1)).whole(), nil)))
	}
	f.Fuzz(func(t *testing.T, packed string) {
		if p, ok := parse(packed); ok {
			if n, err := s2.DecodedLen([]byte(p.block)); err == nil && n > 1<<20 {
				return // takes as much memory as it says
			}
		}
		for _, from := range []*origin{nil, {dict: dict}} {
			r := Raw{packed: packed, from: from}
			_, _ = r.Raw()
			r.GetName()
			r.GetLabels()
		}
	})
}

// TestRawIsNotPrinted: compression leaves parts of an object as they are.
func TestRawIsNotPrinted(t *testing.T) {
	r, err := codec.ParseRaw([]byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","name":"db"},"data":{"password":"aHVudGVyMg=="}}`))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := new(Compressor).Compress(Of(r))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []Raw{Of(r), packed} {
		for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x"} {
			if got := fmt.Sprintf(verb, v); got != "shop/db" {
				t.Errorf("%s: %s", verb, got)
			}
		}
		if got := v.LogValue().String(); got != "shop/db" {
			t.Errorf("log %s", got)
		}
	}
}
