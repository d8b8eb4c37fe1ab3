package compressed

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// strange returns an object that has nothing in common with a pod, and little
// with others.
func strange(n int) string {
	return fmt.Sprintf(`{"kind":"Noise","metadata":{"name":"noise-%d"},"data":%q}`, n, noise(n, 400))
}

// plain returns an object that is like the others, and not like a pod.
func plain(n int) string {
	return fmt.Sprintf(`{"kind":"Plain","metadata":{"name":"plain-%d","uid":"uid-%d"},"data":%q}`, n, n, noise(0, 600)+fmt.Sprint(n))
}

// TestCompressorRenewsItsDictionary follows the dictionaries object by object.
func TestCompressorRenewsItsDictionary(t *testing.T) {
	var all cluster
	var c Compressor
	var made []int // objects after which there was one more
	var kept []Raw // of each dictionary some
	feed := func(n int, object func(int) string) {
		for i := range n {
			before := c.Stats()
			r := pack(t, &c, object(i))
			if c.Stats().Dictionaries > before.Dictionaries {
				made = append(made, c.Stats().Objects)
			}
			if i%100 == 0 {
				kept = append(kept, r)
			}
		}
	}
	const early = first + window // the second dictionary
	want := []int{first, early}
	check := func(what string) {
		t.Helper()
		if diff := cmp.Diff(want, made); diff != "" {
			t.Fatalf("%s: dictionaries after so many objects (-want +got):\n%s", what, diff)
		}
	}

	feed(early+2*window, func(n int) string { return all.pod(n, 1) })
	check("pods that differ as pods do")

	feed(window, plain)
	want = append(want, early+3*window)
	check("a window of other objects")
	feed(3*window, plain)
	check("more of them")

	feed(3*window, strange)
	want = append(want, early+7*window)
	check("objects that no dictionary helps")

	for n, r := range kept {
		if _, err := r.Raw(); err != nil {
			t.Errorf("object %d, after other dictionaries: %v", n, err)
		}
	}
}

func TestCompressorLeavesOutOfTheDictionaryWhatIsLarge(t *testing.T) {
	var c Compressor
	for n := range 2 * first {
		r := pack(t, &c, fmt.Sprintf(`{"metadata":{"name":"large-%d"},"data":%q}`, n, strings.Repeat(noise(1, 100), 1000)))
		if r.from != nil || r.MemorySize() > 30_000 {
			t.Fatalf("%d bytes, origin %v", r.MemorySize(), r.from)
		}
	}
	if got := c.Stats().Dictionaries; got != 0 {
		t.Errorf("%d dictionaries, want none", got)
	}
}

func TestCompressorKeepsWhatWouldNotShrink(t *testing.T) {
	var c Compressor
	odd := raw(t, `{"metadata":{"name":"`+noise(1, 2*reach)+`"}}`)
	got := compress(t, &c, odd)
	if got != odd {
		t.Errorf("%d bytes, want the same %d", got.MemorySize(), odd.MemorySize())
	}
	var all cluster
	pod := pack(t, &c, all.pod(1, 1))
	if again := compress(t, &c, pod); again != pod {
		t.Error("what is packed was packed again")
	}
	want := Stats{
		Objects:  2,
		BytesIn:  int64(odd.MemorySize() + raw(t, all.pod(1, 1)).MemorySize()),
		BytesOut: int64(odd.MemorySize() + pod.MemorySize()),
	}
	if diff := cmp.Diff(want, c.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestCompressorIsSafeForConcurrentUse(t *testing.T) {
	const workers, each = 8, 200
	var all cluster
	var c Compressor
	var in, size [workers]int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := range each {
				object := all.pod(w*each+n, 1)
				r := pack(t, &c, object)
				if got, err := r.Raw(); err != nil || got.JSON() != object {
					t.Errorf("pod %d: %v", w*each+n, err)
				}
				in[w] += int64(raw(t, object).MemorySize())
				size[w] += int64(r.MemorySize())
			}
		})
	}
	wg.Wait()
	want := Stats{Objects: workers * each, Dictionaries: 2}
	for w := range workers {
		want.BytesIn += in[w]
		want.BytesOut += size[w]
	}
	if diff := cmp.Diff(want, c.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestSamplesAreSpreadAndBounded(t *testing.T) {
	var s samples
	for n := range 1000 {
		s.add([]byte(fmt.Sprintf("%04d%s", n, strings.Repeat("x", 5000))))
	}
	var got []string
	for _, text := range s.texts {
		got = append(got, string(text[:4]))
	}
	if diff := cmp.Diff([]string{"0000", "0128", "0256", "0384", "0512", "0640", "0768", "0896"}, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	s = samples{}
	for range 100 {
		s.add(make([]byte, 1<<20))
		if s.size > maxDictionary || len(s.texts) == 0 {
			t.Fatalf("%d samples of %d bytes", len(s.texts), s.size)
		}
	}
	if (&samples{}).dictionary() != nil {
		t.Error("a dictionary of nothing")
	}
}

// TestPodsAreSmall: bytes of a pod, by how many of them are of one deployment.
func TestPodsAreSmall(t *testing.T) {
	for of, limit := range map[cluster]int64{{perWorkload: 10}: 800, {perWorkload: 10_000}: 560} {
		var c Compressor
		var before Stats
		for n := range 2500 {
			if n == 1500 {
				before = c.Stats()
			}
			pack(t, &c, of.pod(n, 1_000_000+n))
		}
		s := c.Stats()
		if got := (s.BytesOut - before.BytesOut) / 1000; got > limit {
			t.Errorf("%d bytes a pod where deployments have %d, want at most %d", got, of.perWorkload, limit)
		}
	}
}

// TestHeap: neither key nor UID nor revision keeps the JSON alive.
func TestHeap(t *testing.T) {
	const pods = 4000
	heap, s := hold(t, cluster{}, pods)
	t.Logf("%d bytes of heap a pod, %d of them packed", heap/pods, s.BytesOut/pods)
	if got := heap / pods; got > 1300 {
		t.Errorf("%d bytes of heap a pod of %d", got, s.BytesIn/pods)
	}
}
