package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
)

// redacted passes body through a redactor in pieces of n bytes.
func redacted(r *redactor, body string, n int) string {
	var out strings.Builder
	for len(body) > 0 {
		piece := body[:min(n, len(body))]
		body = body[len(piece):]
		fit := r.feed([]byte(piece))
		out.Write(fit)
		r.taken(len(fit))
	}
	out.Write(r.finish())
	return out.String()
}

func TestRedactorReplacesWhatIsSecret(t *testing.T) {
	type options struct{ forced, typed, keep, env bool }
	tests := []struct {
		name     string
		o        options
		in, want string
	}{
		{"a Secret", options{},
			`{"kind":"Secret","metadata":{"name":"a"},"data":{"k":"c2VjcmV0"},"stringData":{"x":"a\"b\\"},"type":"Opaque"}`,
			`{"kind":"Secret","metadata":{"name":"a"},"data":{"k":"REDACTED"},"stringData":{"x":"REDACT"},"type":"Opaque"}`},
		{"padding stays", options{}, `{"kind":"Secret","data":{"k":"YWFhYWFhYQ=="}}`, `{"kind":"Secret","data":{"k":"REDACTEDRE=="}}`},
		{"but only of base64", options{}, `{"kind":"Secret","stringData":{"k":"a=b"}}`, `{"kind":"Secret","stringData":{"k":"RED"}}`},
		{"no Secret", options{}, `{"kind":"ConfigMap","data":{"k":"v"}}`, `{"kind":"ConfigMap","data":{"k":"v"}}`},
		{"kept", options{keep: true}, `{"kind":"Secret","data":{"k":"c2VjcmV0"}}`, `{"kind":"Secret","data":{"k":"c2VjcmV0"}}`},
		{"the kind comes last", options{}, `{"data":{"k":"hunter2"},"kind":"Secret"} {"data":{"k":"v"},"kind":"Pod"}`,
			`{"data":{"k":"REDACTE"},"kind":"Secret"} {"data":{"k":"v"},"kind":"Pod"}`},
		{"two kinds", options{}, `{"kind":"Pod","data":{"k":"hunter2"},"kind":"Secret"}`, `{"kind":"Pod","data":{"k":"REDACTE"},"kind":"Secret"}`},
		{"two kinds the other way", options{}, `{"kind":"Secret","kind":"Pod","data":{"k":"hunter2"}}`, `{"kind":"Secret","kind":"Pod","data":{"k":"REDACTE"}}`},
		{"a key called kind", options{}, `{"data":{"kind":"hunter2","data":"hunter2"},"kind":"Secret"}`, `{"data":{"kind":"REDACTE","data":"REDACTE"},"kind":"Secret"}`},
		{"escaped names", options{}, `{"k\u0069nd":"\u0053ecret","d\u0061ta":{"k":"hunter2"}}`, `{"k\u0069nd":"\u0053ecret","d\u0061ta":{"k":"REDACTE"}}`},
		{"data of another shape", options{}, `{"kind":"Secret","data":["hunter2",12,-3.5e9,true,null,{"a":"b"}]}`, `{"kind":"Secret","data":["REDACTE",11,-1.1e1,true,null,{"a":"R"}]}`},
		{"data is text", options{}, `{"kind":"Secret","data":"hunter2"}`, `{"kind":"Secret","data":"REDACTE"}`},
		{"in a watch", options{forced: true}, `{"type":"ADDED","object":{"data":{"k":"hunter2"},"metadata":{"labels":{"data":"v"}}}}`,
			`{"type":"ADDED","object":{"data":{"k":"REDACTE"},"metadata":{"labels":{"data":"v"}}}}`},
		{"in a typed list", options{forced: true, typed: true}, `{"kind":"SecretList","items":[{"data":{"k":"hunter2"}},{"data":{"k":"v"}}]}`,
			`{"kind":"SecretList","items":[{"data":{"k":"REDACTE"}},{"data":{"k":"R"}}]}`},
		{"in a list of Secrets from elsewhere", options{}, `{"kind":"SecretList","items":[{"data":{"k":"hunter2"}}]}`, `{"kind":"SecretList","items":[{"data":{"k":"REDACTE"}}]}`},
		{"in a list of others", options{typed: true}, `{"kind":"ConfigMapList","items":[{"data":{"k":"v"}}]}`, `{"kind":"ConfigMapList","items":[{"data":{"k":"v"}}]}`},
		{"within another object", options{}, `{"apiVersion":"x","data":{"m":[{"apiVersion":"v1","data":{"k":"hunter2"},"kind":"Secret"}],"o":"p"},"kind":"Work"}`,
			`{"apiVersion":"x","data":{"m":[{"apiVersion":"v1","data":{"k":"REDACTE"},"kind":"Secret"}],"o":"p"},"kind":"Work"}`},
		{"a part of its data", options{}, `{"data":{"m":{"data":{"k":"hunter2"},"kind":"Pod"},"o":"hunter2"},"kind":"Secret"}`,
			`{"data":{"m":{"data":{"k":"REDACTE"},"kind":"RED"},"o":"REDACTE"},"kind":"Secret"}`},
		{"last applied", options{}, `{"kind":"Pod","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"a\":1}\n","b":"c"}}}`,
			`{"kind":"Pod","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"REDACTEDRED","b":"c"}}}`},
		{"tokens", options{keep: true}, `{"kind":"TokenReview","spec":{"token":"eyJ"},"status":{"token":"abc","user":{"name":"token"}}}`,
			`{"kind":"TokenReview","spec":{"token":"RED"},"status":{"token":"RED","user":{"name":"token"}}}`},
		{"environment", options{env: true}, `{"spec":{"containers":[{"env":[{"name":"A","value":"hunter2"},{"name":"B","valueFrom":{}}]}],"value":"v"}}`,
			`{"spec":{"containers":[{"env":[{"name":"A","value":"REDACTE"},{"name":"B","valueFrom":{}}]}],"value":"v"}}`},
		{"environment kept", options{}, `{"env":[{"value":"v"}]}`, `{"env":[{"value":"v"}]}`},
		{"cut before the kind", options{}, `{"type":"ADDED","object":{"data":{"k":"hunter2`, `{"type":"ADDED","object":{"data":{"k":"REDACTE`},
		{"cut in a Secret", options{}, `{"kind":"Secret","data":{"k":"hunter2`, `{"kind":"Secret","data":{"k":"REDACTE`},
		{"cut in another", options{}, `{"kind":"ConfigMap","data":{"k":"v`, `{"kind":"ConfigMap","data":{"k":"v`},
		{"cut in an item of a typed list", options{typed: true}, `{"items":[{"data":{"k":"v`, `{"items":[{"data":{"k":"v`},
		{"no JSON", options{}, `{"kind":}{"kind":"Pod"}`, `{"kind":}{"kind":"Pod"}`},
		{"no JSON among secrets", options{forced: true}, `{"data":{"k":hunter2,"l":"hunter2"},"m":"n"} {"a":"b"}`, `{"data":{"k":REDACTE,"D":"REDACTE"},"D":"R"} {"a":"b"}`},
		{"a literal that is none", options{}, `{"a":nullsecret,"b":1x2}`, `{"a":nullREDACT,"E":DRE}`},
		{"text", options{}, `hunter2 "a" {`, `REDACTE "D" {`},
		{"brackets that do not match", options{}, `{"a":]"b"} {"c":1}`, `{"a":]"R"} {"E":D}`},
		{"neither object nor list", options{forced: true}, `"hunter2" 17 ["a"] {"a":"b"}`, `"REDACTE" 11 ["R"] {"a":"b"}`},
		{"a raw newline in a string", options{}, "{\"a\":\"b\nhunter2\"}", "{\"a\":\"b\nREDACTE\"}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.in); n++ {
				r := newRedactor(Redaction{Secrets: !tt.o.keep, Env: tt.o.env}, tt.o.forced, tt.o.typed)
				if got := redacted(r, tt.in, n); got != tt.want {
					t.Fatalf("in pieces of %d\n got %s\nwant %s", n, got, tt.want)
				}
			}
		})
	}
}

// TestRedactorHoldsNoMoreThanItMust: a list comes out item by item, and an object
// that is too large to wait for counts as secret.
func TestRedactorHoldsNoMoreThanItMust(t *testing.T) {
	r := newRedactor(Redaction{Secrets: true}, false, true)
	fit := func(s string) int {
		n := len(r.feed([]byte(s)))
		r.taken(n)
		return n
	}
	head, item := `{"kind":"List","items":[`, `{"data":{"k":"v"}},`
	if n := fit(head + item + item + `{"data":{"`); n != len(head+item+item+`{"data":{"`) {
		t.Errorf("%d bytes are ready", n)
	}
	if n := fit(`k":"vvv`); n != len(`k":"`) {
		t.Errorf("%d bytes are ready, want those before the value", n)
	}
	if n := fit(strings.Repeat("v", maxHeld)); n != maxHeld+3 || len(r.buf) > 0 {
		t.Errorf("%d bytes are ready, %d held", n, len(r.buf))
	}
	if got := string(r.feed([]byte(`vvv","l":"vvv"},"o":"p"}]}`))); strings.Contains(got, "v") || !strings.HasSuffix(got, `"},"o":"p"}]}`) {
		t.Errorf("what was undecided for too long goes on with %s", got)
	}
}

// FuzzRedactor: any bytes, in any pieces, come out in the same length and the same
// way; and of valid JSON no data of a Secret does.
func FuzzRedactor(f *testing.F) {
	f.Add([]byte(`{"kind":"Secret","data":{"k":"hunter2"}}`), 3)
	f.Add([]byte(`{"data":[{"kind":"Secret","data":{"a":{"b":["hunter2"]}}}],"kind":"Pod"}`), 5)
	f.Add([]byte(`{"a":nul}{"metadata":{"annotations":{"x":"y"}},"status":{"token":"t"}}`), 1)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if n < 1 || len(body) > 1<<16 {
			return
		}
		whole := redacted(newRedactor(Redaction{Secrets: true, Env: true}, false, false), string(body), len(body)+1)
		if pieces := redacted(newRedactor(Redaction{Secrets: true, Env: true}, false, false), string(body), n); pieces != whole {
			t.Fatalf("in pieces of %d\n%q\n%q", n, pieces, whole)
		}
		if len(whole) != len(body) {
			t.Fatalf("%d bytes of %d", len(whole), len(body))
		}
		if !json.Valid(body) {
			return
		}
		var v any
		d := json.NewDecoder(strings.NewReader(whole))
		d.UseNumber() // 1e700 is JSON, and no float64
		if err := d.Decode(&v); err != nil {
			t.Fatalf("no longer JSON: %v\n%q\n%q", err, body, whole)
		}
		if s := leak(v, false); s != "" {
			t.Fatalf("%q leaks from\n%q\n%q", s, body, whole)
		}
	})
}

// leak returns a string in the data of a Secret that is no filler.
func leak(v any, inside bool) string {
	switch v := v.(type) {
	case string:
		if strings.Trim(strings.TrimRight(v, "="), "REDACT=") != "" && inside {
			return v
		}
	case []any:
		for _, e := range v {
			if s := leak(e, inside); s != "" {
				return s
			}
		}
	case map[string]any:
		kind, _ := v["kind"].(string)
		for k, e := range v {
			if s := leak(e, inside || kind == "Secret" && (k == "data" || k == "stringData")); s != "" {
				return s
			}
		}
	}
	return ""
}

// BenchmarkRedactor: a list of ConfigMaps, as it comes from a socket.
func BenchmarkRedactor(b *testing.B) {
	item := `{"metadata":{"name":"a","namespace":"d","uid":"7655d15c-919e-4624-b87a-4210b4edc8b7","resourceVersion":"101","labels":{"app":"web"}},"data":{"k":"` +
		strings.Repeat("text and more text ", 20) + `"}},`
	body := []byte(`{"kind":"ConfigMapList","items":[` + strings.Repeat(item, 100))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := newRedactor(Redaction{Secrets: true}, false, true)
		for from := 0; from < len(body); from += 32 << 10 {
			r.taken(len(r.feed(body[from:min(len(body), from+32<<10)])))
		}
	}
}

// TestNestingWithoutAnEndTakesNoMemory, and all behind it is replaced.
func TestNestingWithoutAnEndTakesNoMemory(t *testing.T) {
	r := newRedactor(Redaction{Secrets: true}, false, true)
	for range 1000 {
		r.taken(len(r.feed([]byte(strings.Repeat("[", 1000)))))
		if len(r.open)+len(r.stack)+len(r.buf) > 3*codec.MaxDepth {
			t.Fatalf("%d brackets are kept, and %d levels, and %d bytes", len(r.open), len(r.stack), len(r.buf))
		}
	}
	if got := redacted(r, `{"kind":"ConfigMap"}`, 100); strings.Contains(got, "ConfigMap") {
		t.Errorf("%q", got)
	}
}
