package replay_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

var update = flag.Bool("update", false, "write the recordings in testdata again")

// sample records both levels of one short story, the same at each run.
func sample(t *testing.T, o replay.Options) []byte {
	t.Helper()
	var f file
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		srv.Put(kube.ConfigMaps, configMap("a", "0"))
		srv.Put(kube.Secrets, secretObject("s"))
		w, err := replay.NewWriter(&f, replay.Header{Cluster: replay.Cluster{Server: "https://jane:pw@example.com/x?y=z", GitVersion: "v1.37.0"}}, o)
		if err != nil {
			t.Fatal(err)
		}
		// At the wire, a watch that the server ends, and an object.
		c := newClient(t, proxied(t, w, srv))
		change := time.AfterFunc(500*time.Millisecond, func() { srv.Put(kube.ConfigMaps, configMap("a", "1")) })
		defer change.Stop()
		for _, err := range watch.Once(t.Context(), configMaps(c), "102", watch.Options{Timeout: time.Nanosecond}) {
			if err != nil {
				t.Error(err)
			}
		}
		if err := w.Mark("here it changed"); err != nil {
			t.Error(err)
		}
		if _, err := client.Of[codec.Raw](c, kube.Secrets).Get(t.Context(), kube.Key{Namespace: "d", Name: "s"}); err != nil {
			t.Error(err)
		}
		// Above it, a watcher that is broken once.
		c = newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial})
		srv.On(apitest.Match{Verb: "list"}, faults.Throttle("3")).Times(1)
		s := w.Stream(replay.Target{Resource: kube.ConfigMaps, Namespace: "d"})
		wo := watch.Options{Initial: watch.Paged, Backoff: time.Nanosecond, Trace: s.Trace(watch.Trace{})}
		stop := watching(t.Context(), newLog(false), recorded{s, watch.New(configMaps(c).In("d"), wo)})
		pass(5 * time.Second)
		srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "a"})
		synctest.Wait()
		stop()
		closed(t, w)
	})
	return f.bytes()
}

// TestGolden: the format is what it was. -update writes it again.
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "sample.lwrec.ndjson")
	got := sample(t, replay.Options{})
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("recording (-%s +now); -update writes it:\n%s", path, diff)
	}
	rec, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := (replay.Cluster{Server: "https://example.com/x", GitVersion: "v1.37.0"}); rec.Header.Cluster != want {
		t.Errorf("cluster %+v", rec.Header.Cluster)
	}
}

// TestEveryPrefixPlays: a file that was cut at any byte holds exactly the entries that
// are whole before the cut, says that it was cut, and knows the states that these make.
func TestEveryPrefixPlays(t *testing.T) {
	for _, gz := range []bool{false, true} {
		b := sample(t, replay.Options{Gzip: gz})
		whole := load(t, b)
		if whole.Truncated {
			t.Fatal("the whole is truncated")
		}
		stated := 0 // so many lines have been compared
		for n := range b {
			text := partly(b[:n])
			lines := bytes.Count(text, []byte("\n"))
			if rest := text[bytes.LastIndexByte(text, '\n')+1:]; json.Valid(rest) && !gz {
				lines++ // only its end is missing
			}
			rec, err := replay.Load(bytes.NewReader(b[:n]), 0)
			if lines == 0 {
				if damage := (*replay.DamageError)(nil); !errors.As(err, &damage) || damage.Line != 1 {
					t.Fatalf("cut at %d, in the header: %v", n, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("cut at %d: %v", n, err)
			}
			entries := whole.Entries[:min(lines-1, len(whole.Entries))]
			if diff := cmp.Diff(entries, rec.Entries, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("cut at %d:\n%s", n, diff)
			}
			// The footer may be whole without its newline, or without gzip's own.
			if footer := lines-1 > len(whole.Entries); rec.Truncated == footer {
				t.Fatalf("cut at %d: truncated %v", n, rec.Truncated)
			}
			if lines == stated {
				continue
			}
			stated = lines
			before := &replay.Recording{Entries: entries}
			if diff := cmp.Diff(before.ObjectsAt(time.Hour), rec.ObjectsAt(time.Hour)); diff != "" {
				t.Fatalf("cut at %d: the state is another:\n%s", n, diff)
			}
		}
	}
}

// partly returns as much of a recording as can be decompressed.
func partly(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("\x1f\x8b")) {
		return b
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(z) // it ends within
	return text
}

// TestNothingBehindARecordingIsPassedOver: two recordings in one file, or a recording
// with something behind it, are not silently one.
func TestNothingBehindARecordingIsPassedOver(t *testing.T) {
	plain, gz := sample(t, replay.Options{}), sample(t, replay.Options{Gzip: true})
	entries, lines := len(load(t, plain).Entries), bytes.Count(plain, []byte("\n"))
	first := plain[:bytes.IndexByte(plain, '\n')+1]
	for _, c := range []struct {
		name    string
		b       []byte
		entries int
		want    string
	}{
		{"two", slices.Concat(plain, plain), entries, fmt.Sprintf("line %d: another recording begins here", lines+1)},
		{"two, compressed", slices.Concat(gz, gz), entries, fmt.Sprintf("line %d: another recording begins here", lines+1)},
		{"the first was cut", slices.Concat(first, plain), 0, "line 2: another recording begins here"},
		{"text", slices.Concat(plain, []byte("junk")), entries, fmt.Sprintf("line %d: there is data after the footer", lines+1)},
		{"an entry", slices.Concat(plain, []byte(`{"t":"mark"}`)), entries, fmt.Sprintf("line %d: there is data after the footer", lines+1)},
		{"no gzip", slices.Concat(gz, []byte("junk")), entries, fmt.Sprintf("line %d: there is data after the footer", lines+1)},
		{"no gzip, and longer", slices.Concat(gz, []byte("this is no gzip")), entries, fmt.Sprintf("line %d: the compressed data is damaged", lines+1)},
		{"zeros", slices.Concat(gz, make([]byte, 100)), entries, fmt.Sprintf("line %d: the compressed data is damaged", lines+1)},
	} {
		rec, err := replay.Load(bytes.NewReader(c.b), 0)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if rec == nil || len(rec.Entries) != c.entries {
			t.Errorf("%s: what stands before is not there", c.name)
		}
	}
}

// TestReaderBoundsEntries: short lines take more memory than text, and kinds that
// nobody knows are counted.
func TestReaderBoundsEntries(t *testing.T) {
	const head = `{"t":"header","format":"lwrec","version":1}` + "\n"
	many := func(line func(i int) string) io.Reader {
		var b strings.Builder
		b.WriteString(head)
		for i := range 10_000 {
			b.WriteString(line(i) + "\n")
		}
		return strings.NewReader(b.String())
	}
	failing := func(failure string) string { return `{"t":"note","note":"error","failure":` + failure + `}` }
	causes := `{"text":"x","status":{"details":{"causes":[{}` + strings.Repeat(",{}", 99) + `]}}}`
	for line, limit := range map[string]int64{
		`{"t":"mark"}`:  4 << 20,
		failing(causes): 32 << 20,
		failing(`{"text":"x","is":[""` + strings.Repeat(`,""`, 99) + `]}`):     32 << 20,
		failing(`{"text":"x","item":{"failure":` + causes + `}}`):              32 << 20,
		failing(`{"text":"x","interruption":{"failure":` + causes + `}}`):      32 << 20,
		`{"t":"req","id":1,"url":"/","headers":{"a":[],"b":[],"c":[],"d":[]}}`: 8 << 20,
	} {
		if _, err := replay.Load(many(func(int) string { return line }), limit); !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := replay.Load(many(func(i int) string { return fmt.Sprintf(`{"t":"k%d"}`, i) }), 0); err == nil || !strings.Contains(err.Error(), "more than 64 kinds") {
		t.Errorf("kinds: %v", err)
	}
}

// TestGzipIsFlushedBeforeAWait: what was recorded is in the file while a watch is
// quiet.
func TestGzipIsFlushedBeforeAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		var f file
		w := newWriter(t, &f, replay.Options{Gzip: true})
		c := newClient(t, proxied(t, w, srv))
		stop := watching(t.Context(), newLog(false), watch.New(configMaps(c), watch.Options{}))
		pass(time.Second)
		srv.Put(kube.ConfigMaps, configMap("a", "fresh-news"))
		pass(time.Second)
		killed := f.bytes()
		stop()
		synctest.Wait()
		closed(t, w)
		rec := load(t, killed)
		if !rec.Truncated {
			t.Error("it is said to be whole")
		}
		if last := rec.Entries[len(rec.Entries)-1]; last.Kind != replay.KindChunk || !strings.Contains(last.Text, "fresh-news") {
			t.Errorf("the last entry is %+v", last)
		}
	})
}

func TestDamageIsNamedAndNotQuoted(t *testing.T) {
	const ok = `{"t":"mark","at":5,"label":"a"}` + "\n"
	const head = `{"t":"header","format":"lwrec","version":1}` + "\n"
	tests := []struct {
		name, text, want string
	}{
		{"nothing", "", "recording, line 1: it is empty: this is not a recording, or its beginning is lost"},
		{"something else", "hunter2: yes\n", "recording, line 1: there is no header: this is not a recording, or its beginning is lost"},
		{"another format", `{"t":"header","format":"hunter2","version":1}` + "\n", "recording, line 1: there is no header: this is not a recording, or its beginning is lost"},
		{"a newer version", `{"t":"header","format":"lwrec","version":2,"timeBase":7}` + "\n", "the recording is of a newer format: version 2, this program supports up to 1; use a newer one"},
		{"gzip that is none", "\x1f\x8bhunter2hunter2", "recording, line 1: it is neither text nor gzip: this is not a recording, or its beginning is lost"},
		{"no JSON", head + ok + "hunter2\n" + ok, "recording, line 3: invalid JSON at byte 0: value expected; to play the part before it, keep the first 2 lines"},
		{"half a line", head + `{"t":"mark","label":"hunter2` + "\n" + ok, "recording, line 2: invalid JSON at byte 28: control character in a string; to play the part before it, keep the first line"},
		{"a wrong type", head + ok + `{"t":"mark","at":"hunter2"}` + "\n", "recording, line 3: decode at: string into time.Duration; to play the part before it, keep the first 2 lines"},
		{"no type", head + `{"at":5}` + "\n", "recording, line 2: it has no type; to play the part before it, keep the first line"},
		{"time runs back", head + `{"t":"mark","at":-5}` + "\n", "recording, line 2: its time is negative; to play the part before it, keep the first line"},
		{"a chunk of nobody", head + `{"t":"chunk","text":"hunter2"}` + "\n", "recording, line 2: it has no id; to play the part before it, keep the first line"},
		{"no base64", head + `{"t":"chunk","id":1,"b64":"hunter2!"}` + "\n", "recording, line 2: its body is not base64; to play the part before it, keep the first line"},
		{"no path", head + `{"t":"req","id":1,"url":"http://hunter2/"}` + "\n", "recording, line 2: its URL is not a path; to play the part before it, keep the first line"},
		{"no code", head + `{"t":"resp","id":1,"code":20000}` + "\n", "recording, line 2: its code is not a status code; to play the part before it, keep the first line"},
		{"no object", head + `{"t":"ev","id":1,"type":"ADDED","object":"hunter2"}` + "\n", "recording, line 2: its object is not an object; to play the part before it, keep the first line"},
		{"no resource", head + `{"t":"stream","id":1}` + "\n", "recording, line 2: the stream has no resource; to play the part before it, keep the first line"},
		{"another count", head + ok + `{"t":"footer","counts":{"mark":2}}` + "\n", "recording, line 3: the lines before the footer have changed; to play the part before it, keep the first 2 lines"},
		{"another sum", head + ok + `{"t":"footer","sha256":"00"}` + "\n", "recording, line 3: the lines before the footer have changed; to play the part before it, keep the first 2 lines"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := replay.Load(strings.NewReader(tt.text), 0)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestReaderPassesOverWhatItDoesNotKnow: fields, kinds of entries, and whatever
// those hold.
func TestReaderPassesOverWhatItDoesNotKnow(t *testing.T) {
	rec := load(t, []byte(`{"t":"header","format":"lwrec","version":1,"new":[1],"tool":"other"}
{"t":"mark","at":5,"label":"a","new":{"b":[]}}
{"t":"weather","at":"noon","id":"x"}
{"t":"mark","at":6,"label":"b"}
`))
	want := &replay.Recording{Header: replay.Header{Format: "lwrec", Version: 1, Tool: "other"}, Truncated: true,
		Entries: []*replay.Entry{{Kind: replay.KindMark, At: 5, Label: "a"}, {Kind: replay.KindMark, At: 6, Label: "b"}}}
	if diff := cmp.Diff(want, rec); diff != "" {
		t.Error(diff)
	}
}

// TestReaderTakesNoMoreThanItsLimit, of a file that is one long line and of one
// that is too long for the memory.
func TestReaderTakesNoMoreThanItsLimit(t *testing.T) {
	var bomb bytes.Buffer
	gz := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(gz, `{"t":"header","format":"lwrec","version":1}`+"\n")
	for range 17 {
		_, _ = gz.Write(bytes.Repeat([]byte(" "), 64<<10))
	}
	_ = gz.Close()
	if _, err := replay.Load(&bomb, 1<<20); err == nil || !strings.Contains(err.Error(), "line 2: it is longer than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	_, err := replay.Load(strings.NewReader(small), 300)
	if err == nil || !strings.Contains(err.Error(), "limit of 300 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestWriterStopsAtItsLimit(t *testing.T) {
	var f file
	w := newWriter(t, &f, replay.Options{MaxBytes: 1000})
	n := 0
	for ; w.Mark(strings.Repeat("x", 50)) == nil; n++ {
	}
	if err := w.Close(); !errors.Is(err, replay.ErrFull) || !errors.Is(w.Err(), replay.ErrFull) {
		t.Errorf("Close: %v", err)
	}
	rec := load(t, f.bytes())
	last := rec.Entries[len(rec.Entries)-1]
	if rec.Truncated || len(rec.Entries) != n+1 || last.Note != "full" || f.b.Len() > 1300 {
		t.Errorf("%d entries of %d bytes, the last is %+v", len(rec.Entries), f.b.Len(), last)
	}
}

// failing fails once so much has been written, in the middle of a line.
type failing struct {
	file
	left int
}

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.left {
		n, _ := f.file.Write(b[:f.left])
		return n, errors.New("the disk is full")
	}
	f.left -= len(b)
	return f.file.Write(b)
}

// TestWriterSurvivesAFailure: nothing follows half a line, and who is recorded
// does not notice.
func TestWriterSurvivesAFailure(t *testing.T) {
	f := &failing{left: 600}
	w := newWriter(t, f, replay.Options{})
	for i := range 100 {
		_ = w.Mark(fmt.Sprint("mark ", i))
		f.left += 10 // it is not full any more
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "write a recording: the disk is full") {
		t.Errorf("Close: %v", err)
	}
	rec := load(t, f.bytes())
	if n := len(rec.Entries); !rec.Truncated || n < 3 || n > 20 {
		t.Errorf("%d entries", n)
	}
}

func TestWriterIsForManyAtATime(t *testing.T) {
	var f file
	w := newWriter(t, &f, replay.Options{Gzip: true})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				if err := w.Mark(fmt.Sprintf("%d/%d", i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	closed(t, w)
	next := [8]int{}
	for _, e := range load(t, f.bytes()).Entries {
		var i, j int
		if _, err := fmt.Sscanf(e.Label, "%d/%d", &i, &j); err != nil || next[i] != j {
			t.Fatalf("%q after %d", e.Label, next[i])
		}
		next[i]++
	}
	if next != [8]int{200, 200, 200, 200, 200, 200, 200, 200} {
		t.Errorf("%v", next)
	}
}

func TestCreateMakesANewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lwrec.ndjson.gz")
	w, err := replay.Create(path, replay.Header{Tool: "test"}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Mark("a"); err != nil {
		t.Fatal(err)
	}
	closed(t, w)
	if err := w.Close(); err == nil {
		t.Error("it can be closed twice")
	}
	if err := w.Mark("late"); err != nil {
		t.Errorf("a late mark is an error: %v", err)
	}
	if _, err := replay.Create(path, replay.Header{}, replay.Options{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("it is overwritten: %v", err)
	}
	rec, err := replay.Open(path)
	if err != nil || len(rec.Entries) != 1 || rec.Header.Tool != "test" || rec.Truncated {
		t.Errorf("%+v, %v", rec, err)
	}
	if _, err := replay.Open(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
}

// TestWriterSaysThatItsFileIsLost: nothing but that is said, and nothing is written into what is
// there now. The file that was renamed ends in good order.
func TestWriterSaysThatItsFileIsLost(t *testing.T) {
	for _, name := range []string{"a.lwrec.ndjson", "a.lwrec.ndjson.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := replay.Create(path, replay.Header{}, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Mark("a"), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != replay.ErrLost {
			t.Errorf("Flush: %v", err)
		}
		_ = w.Mark("b")
		if err := w.Close(); !errors.Is(err, replay.ErrLost) || err.Error() != replay.ErrLost.Error() {
			t.Errorf("Close: %v", err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 0 {
			t.Errorf("%v, %v", info, err)
		}
		if rec, err := replay.Open(path + ".old"); err != nil || len(rec.Entries) != 1 || rec.Truncated {
			t.Errorf("%+v, %v", rec, err)
		}
	}
}

// FuzzReader: any file is read or refused, and what is read can be played.
func FuzzReader(f *testing.F) {
	f.Add([]byte(small))
	if b, err := os.ReadFile(filepath.Join("testdata", "sample.lwrec.ndjson")); err == nil {
		f.Add(b)
		var gz bytes.Buffer
		z := gzip.NewWriter(&gz)
		_, _ = z.Write(b)
		_ = z.Close()
		f.Add(gz.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := replay.Load(bytes.NewReader(b), 1<<20)
		if rec == nil {
			if err == nil {
				t.Fatal("neither a recording nor an error")
			}
			return
		}
		for n := range rec.Streams() {
			src, err := replay.NewSource[kube.Partial](rec, n, replay.SourceOptions{Pace: replay.Pace{Fast: true}})
			if err != nil {
				continue // two streams of one id
			}
			for ev, err := range src.Events(t.Context()) {
				_ = fmt.Sprint(ev, err)
			}
		}
		replay.NewScript(rec, replay.ScriptOptions{})
		replay.NewScript(rec, replay.ScriptOptions{Strict: true})
	})
}

// FuzzRoundTrip: what is read from a recorded body, in whatever pieces, is what a
// script answers with, in the same pieces.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("{\"a\":\"\xc3\xbc\"}\x00\xff"), 2)
	f.Add([]byte(`{"type":"ADDED","object":{}}`), 7)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if n < 1 || len(body) > 4<<10 {
			return
		}
		var out bytes.Buffer
		w, err := replay.NewWriter(&out, replay.Header{}, replay.Options{Gzip: n%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/readyz?a=b", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.Transport(canned(body)).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for b := make([]byte, n); ; {
			k, err := resp.Body.Read(b)
			if k > 0 {
				want = append(want, string(b[:k]))
			}
			if err != nil {
				break
			}
		}
		closed := w.Close()
		rec, err := replay.Load(&out, 0)
		if err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		got := &pieces{header: http.Header{}}
		replay.NewScript(rec, replay.ScriptOptions{Pace: replay.Pace{Fast: true}}).ServeHTTP(got, req)
		if diff := cmp.Diff(want, got.b); diff != "" || got.code != 200 {
			t.Fatalf("%d\n%s", got.code, diff)
		}
	})
}

// canned answers everything with a text.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(bytes.NewReader(c))}, nil
}

// pieces is a ResponseWriter that keeps what each Write was.
type pieces struct {
	header http.Header
	code   int
	b      []string
}

func (p *pieces) Header() http.Header  { return p.header }
func (p *pieces) WriteHeader(code int) { p.code = code }
func (p *pieces) Write(b []byte) (int, error) {
	p.b = append(p.b, string(b))
	return len(b), nil
}

// TestTheFormatIsJSONLines: any tool can read it.
func TestTheFormatIsJSONLines(t *testing.T) {
	for line := range strings.Lines(string(sample(t, replay.Options{}))) {
		var v struct {
			T  string
			At *int64
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.T == "" || v.T != "header" && v.At == nil {
			t.Errorf("%v in %s", err, line)
		}
	}
}
