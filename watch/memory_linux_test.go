package watch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// attackSize is how much each attack sends, uncompressed: make hostile sends 4096.
var attackSize = flag.Int("attack", 0, "MiB that a hostile server sends by each attack; 0 = a few attacks, with as much as each needs")

// bounded are the attacks of make test, and the MiB that each sends: one for each limit, and
// with enough to pass maxResident without that limit. What the client reads to its end is
// short or cheap to read; 16 MiB are one object that takes many times its size once it is
// decoded.
var bounded = map[string]int{
	"list/raw/metadata":               512,
	"list/raw/a member name":          512,
	"list/raw/column definitions":     512,
	"list/raw/an item without a name": 512,
	"list/raw/an item":                400,
	"list/any/items: owners":          16,
	"list/any/items: finalizers":      16,
	"list/raw/items: labels":          16,
	"watch/raw/a type":                512,
	"watch/raw/an object":             512,
	"watch/raw/events: long texts":    400,
	"watch/any/events: owners":        16,
	"watch/any/events: escapes":       16,
	"watch/raw/causes":                16,

	"list/struct/protobuf: an item without a name":     512,
	"list/struct/protobuf: items: containers":          64,
	"list/struct/protobuf: items: containers, mixed":   64,
	"list/struct/protobuf: items: labels":              64,
	"list/struct/protobuf: items: labels, mixed":       64,
	"list/struct/protobuf: items: annotations":         64,
	"watch/struct/protobuf: events: finalizers":        64,
	"watch/struct/protobuf: events: finalizers, mixed": 64,
	"watch/struct/protobuf: events: long texts":        400,
}

const (
	maxResident = 300              // the most that a client may hold, in MiB
	mostTime    = 30 * time.Second // of an attack that the client does not refuse
)

// An attack is an answer: what begins it, and what follows again and again.
type attack struct{ name, head, block string }

// as returns what an answer is decoded as: only where objects come it matters.
func (a attack) as() []string {
	if a.protobuf() {
		return []string{"struct"}
	}
	if strings.Contains(a.name, ": ") {
		return []string{"raw", "any"}
	}
	return []string{"raw"}
}

func attacks() []attack {
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	const (
		listHead  = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`
		tableHead = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":[],"rows":[`
		large     = 15 << 20 // just below the limit of an object
	)
	meta := `"metadata":{"name":"a","namespace":"d","uid":"u","resourceVersion":"8"`
	all := []attack{
		{"white space", "", fill(" \n", 1<<20)},
		{"a kind", `{"kind":"`, fill("x", 1<<20)},
		{"metadata", `{"metadata":{"a":"`, fill("x", 1<<20)},
		{"a member name", `{"`, fill("x", 1<<20)},
		{"a member", `{"x":"`, fill("x", 1<<20)},
		{"members", `{"kind":"PodList"`, fill(`,"x":{"y":[]}`, 1<<20)},
		{"column definitions", `{"kind":"Table","columnDefinitions":["`, fill("x", 1<<20)},
		{"nesting", `{"items":[`, fill("[", 1<<20)},
		{"an item without a name", listHead + `{"spec":"`, fill("x", 1<<20)},
		{"an item", listHead + `{` + meta + `},"spec":"`, fill("x", 1<<20)},
		{"an item with a long name", listHead + `{"metadata":{"name":"`, fill("x", 1<<20)},
		{"small items", listHead + `{}`, fill(`,{"metadata":{"name":"a"}}`, 1<<20)},
		{"empty items", listHead + `{}`, fill(`,{}`, 1<<20)},
		{"rows", tableHead + `{}`, fill(`,{"cells":[],"object":{"metadata":{"name":"a"}}}`, 1<<20)},
		{"large rows", tableHead + `{}`, `,{"cells":["` + fill("x", large) + `"],"object":{` + meta + `}}}`},
		{"columns, and then rows", `{"kind":"Table","columnDefinitions":["` + fill("x", 1<<20-100) + `"],"rows":[{}`, fill(`,{"cells":[]}`, 1<<20)},
	}
	objects := []attack{
		{"long texts", "", `{` + meta + `},"spec":"` + fill("x", large) + `"}`},
		{"long names", "", `{"metadata":{"name":"` + fill("x", large) + `","uid":"u"}}`},
		{"long revisions", "", `{"metadata":{"name":"a","resourceVersion":"` + fill("1", large) + `"}}`},
		{"invalid UTF-8", "", `{` + meta + `,"annotations":{"a":"` + fill("\xff", large) + `"}}}`},
		{"owners", "", `{` + meta + `,"ownerReferences":[` + fill("{},", large) + `{}]}}`},
		{"finalizers", "", `{` + meta + `,"finalizers":[` + fill(`"",`, large) + `""]}}`},
		{"labels", "", `{` + meta + `,"labels":{` + manyLabels(large/2) + `"x":""}}}`},
		{"escapes", "", `{` + meta + `,"annotations":{"a":"` + fill(`\u0001`, large) + `"}}}`},
		{"managed fields", "", `{` + meta + `,"managedFields":[` + fill("{},", large) + `{}]}}`},
		{"spaces", "", `{` + meta + `},` + fill(" ", large) + `"a":1}`},
	}
	for _, o := range objects {
		all = append(all,
			attack{"items: " + o.name, listHead + `{}`, "," + o.block},
			attack{"events: " + o.name, "", `{"type":"ADDED","object":` + o.block + "}\n"})
	}
	return append(all,
		attack{"a type", `{"type":"`, fill("x", 1<<20)},
		attack{"types", "", `{"type":"` + fill("X", large) + `","object":{}}` + "\n"},
		attack{"an object", `{"type":"ADDED","object":{"a":"`, fill("x", 1<<20)},
		attack{"bookmarks", "", `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"` + fill("1", large) + `"}}}` + "\n"},
		attack{"errors", "", `{"type":"ERROR","object":{"kind":"Status","code":500,"message":"` + fill("x", large) + `"}}` + "\n"},
		attack{"causes", "", `{"type":"ERROR","object":{"kind":"Status","code":500,"details":{"causes":[` + fill("{},", large) + `{}]}}}` + "\n"},
	)
}

func manyLabels(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `"%d":"",`, i)
	}
	return b.String()
}

// A flood answers five requests by an attack, or fewer once it has sent size bytes
// in all. It is done when there is another request.
type flood struct {
	head, block []byte // as gzip
	unit        int64  // bytes of block
	typ         string // of the answers

	mu       sync.Mutex
	left     int64
	requests int
	done     chan struct{}
	once     sync.Once
}

func pack(s string) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return out.Bytes()
}

func newFlood(a attack, size int64) *flood {
	typ := "application/json"
	if a.protobuf() {
		typ = protobuf.MediaType
	}
	return &flood{typ: typ, head: pack(a.head), block: pack(a.block), unit: int64(len(a.block)), left: size, done: make(chan struct{})}
}

func (f *flood) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests++
	over := f.requests > 5 || f.left < 0
	f.mu.Unlock()
	if over {
		f.once.Do(func() { close(f.done) })
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Type", f.typ)
	_, err := w.Write(f.head)
	for err == nil {
		f.mu.Lock()
		f.left -= f.unit
		end := f.left < 0
		f.mu.Unlock()
		if end {
			return // the client has yet to read most of it
		}
		_, err = w.Write(f.block)
	}
}

// TestMemoryIsLimitedWhateverAServerSends measures the peak resident set of programs
// that list and watch. They are built without the race detector.
func TestMemoryIsLimitedWhateverAServerSends(t *testing.T) {
	program := filepath.Join(t.TempDir(), "victim")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ran := 0
	for _, a := range slices.Concat(attacks(), binaryAttacks()) {
		for _, as := range a.as() {
			verb := "list"
			if strings.HasPrefix(a.block, `{"type"`) || strings.HasPrefix(a.head, `{"type"`) || strings.Contains(a.name, ": events") {
				verb = "watch"
			}
			name, size := verb+"/"+as+"/"+a.name, *attackSize
			if size == 0 {
				size = bounded[name]
			}
			if size == 0 {
				continue
			}
			ran++
			t.Run(name, func(t *testing.T) {
				t.Parallel() // the memory is that of each process
				f := newFlood(a, int64(size)<<20)
				srv := httptest.NewServer(f)
				defer srv.Close()
				defer srv.CloseClientConnections()
				ctx, cancel := context.WithTimeout(t.Context(), mostTime)
				defer cancel()
				cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestVictim$", "-test.v")
				cmd.Env = append(os.Environ(), "VICTIM="+verb+" "+as+" "+srv.URL)
				stdin, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case <-f.done:
				case <-ctx.Done():
				case err := <-ended:
					ended <- err
				}
				_ = stdin.Close()
				err = <-ended
				_, line, ok := strings.Cut(out.String(), "VmHWM:")
				kb := 0
				if _, scan := fmt.Sscan(line, &kb); err != nil || !ok || scan != nil {
					t.Fatalf("%v: %s", err, out.String())
				}
				if kb/1024 > maxResident {
					t.Errorf("%d MiB, want at most %d", kb/1024, maxResident)
				}
				f.mu.Lock() // an answer may still be under way
				defer f.mu.Unlock()
				t.Logf("%d MiB; %.1f of %d MiB sent in %d requests; %s", kb/1024, float64(size)-float64(f.left)/(1<<20), size, f.requests, strings.SplitN(out.String(), "\n", 3)[1])
			})
		}
	}
	if ran < len(bounded) {
		t.Errorf("%d attacks, want %d: one of bounded does not exist", ran, len(bounded))
	}
}

// TestVictim is the program that is attacked: VICTIM says what it does. It says its
// peak resident set when its stdin ends, or its list.
func TestVictim(t *testing.T) {
	var verb, as, url string
	if _, err := fmt.Sscan(os.Getenv("VICTIM"), &verb, &as, &url); err != nil {
		return // not a victim
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	c, err := client.New(client.Config{Server: url})
	if err != nil {
		t.Fatal(err)
	}
	switch as {
	case "raw":
		suffer(ctx, verb, client.Of[codec.Raw](c, kube.Pods))
	case "struct":
		suffer(ctx, verb, client.Of[firm](c, kube.Pods))
	default:
		suffer(ctx, verb, client.Of[loose](c, kube.Pods))
	}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.Write(b)
}

// loose keeps all of an object.
type loose struct {
	kube.Meta `json:"metadata"`
	Spec      any `json:"spec"`
	Status    map[string]any
}

func suffer[T kube.Object](ctx context.Context, verb string, c client.Collection[T]) {
	if verb == "list" {
		var last error
		for _, err := range list.New(c, list.Options{}).All(ctx) {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			fmt.Printf("ended: %.300v\n", last)
		}
		return
	}
	var last error // kept, as a program does that shows it
	for _, err := range watch.New(c, watch.Options{Revision: "1", Initial: watch.Paged, Backoff: time.Millisecond, BackoffMax: 100 * time.Millisecond}).Events(ctx) {
		if err != nil {
			last = err
		}
	}
	fmt.Printf("ended: %.300v\n", last)
}
