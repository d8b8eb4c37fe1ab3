package protojson_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/protojson"
)

// TestDecodeAsKubernetesWould compares with what the Go types of Kubernetes made
// of the same bytes.
func TestDecodeAsKubernetesWould(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pb")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pairs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".pb"), func(t *testing.T) {
			want := value(t, load(t, strings.TrimSuffix(file, ".pb")+".json"))
			b, apiVersion, kind, err := protojson.Decode(load(t, file), limit)
			if err != nil {
				t.Fatal(err)
			}
			got := value(t, b)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got["apiVersion"] != apiVersion || got["kind"] != kind {
				t.Errorf("it says that this is %s %s", apiVersion, kind)
			}
		})
	}
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func value(t *testing.T, b []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

// part is a field of type bytes.
func part(number int, parts ...string) string {
	body := strings.Join(parts, "")
	b := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return string(binary.AppendUvarint(b, uint64(len(body)))) + body
}

// number is a field of type varint.
func number(number int, n uint64) string {
	b := binary.AppendUvarint(nil, uint64(number)<<3)
	return string(binary.AppendUvarint(b, n))
}

// object puts parts of an object into its envelope.
func object(apiVersion, kind string, parts ...string) []byte {
	return []byte("k8s\x00" + part(1, part(1, apiVersion), part(2, kind)) + part(2, parts...))
}

// limit is that of a body of a write.
const limit = 3 << 20

const name, labels, data = 1, 11, 2 // of ObjectMeta and of ConfigMap

func TestDecode(t *testing.T) {
	meta := func(parts ...string) []byte { return object("v1", "ConfigMap", part(1, parts...)) }
	const head = `{"kind":"ConfigMap","apiVersion":"v1","metadata":`
	for _, c := range []struct {
		about string
		in    []byte
		want  string
	}{
		{"nothing is there", object("v1", "ConfigMap"), head + `{}}`},
		{"fields of a later version", meta(part(name, "a"), number(999, 1), part(998, "x"), "\xf9\x3e12345678", "\xfd\x3e1234"), head + `{"name":"a"}}`},
		{"groups, which nobody uses", meta("\xa3\x06"+part(1, "x")+"\xa3\x06\xa4\x06\xa4\x06", part(name, "a")), head + `{"name":"a"}}`},
		{"the last one counts", meta(part(name, "a"), part(name, "b")), head + `{"name":"b"}}`},
		{"a message in pieces", object("v1", "ConfigMap", part(1, part(name, "a")), part(1, part(3, "ns"))), head + `{"name":"a","namespace":"ns"}}`},
		{"the last entry of a map counts", meta(part(labels, part(1, "k"), part(2, "1")), part(labels, part(1, "k"), part(2, "2"))), head + `{"labels":{"k":"2"}}}`},
		{"an entry without a value", meta(part(labels, part(1, "k"))), head + `{"labels":{"k":""}}}`},
		{"text that is no text", meta(part(name, "\xff\"<\n")), head + `{"name":"\ufffd\"\u003c\n"}}`},
		{"negative numbers", meta(number(7, 1<<64-5)), head + `{"generation":-5}}`},
		{"a pointer to zero", meta(number(10, 0)), head + `{"deletionGracePeriodSeconds":0}}`},
		{"zero", meta(number(7, 0)), head + `{}}`},
		{"the zero time, and a pointer to it", meta(part(8), part(9)), head + `{"deletionTimestamp":null}}`},
		{"nanoseconds, which a Time has not", meta(part(8, number(1, 5), number(2, 1<<64-1))), head + `{"creationTimestamp":"1970-01-01T00:00:05Z"}}`},
		{"options of another group", object("batch/v1", "DeleteOptions", part(5, "All")), `{"kind":"DeleteOptions","apiVersion":"batch/v1","dryRun":["All"]}`},
		{"an object in a message", object("v1", "List", part(2, part(1, string(meta(part(name, "a")))))),
			`{"kind":"List","apiVersion":"v1","metadata":{},"items":[` + head + `{"name":"a"}}]}`},
		{"an int32 of 64 bits", object("autoscaling/v1", "Scale", part(2, number(1, 7<<32|5))), `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{},"spec":{"replicas":5},"status":{"replicas":0}}`},
		{"a quantity of nothing", object("v1", "ResourceQuota", part(2, part(1, part(1, "cpu")))),
			`{"kind":"ResourceQuota","apiVersion":"v1","metadata":{},"spec":{"hard":{"cpu":"0"}},"status":{}}`},
		{"no bytes", object("certificates.k8s.io/v1", "CertificateSigningRequest"),
			`{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","metadata":{},"spec":{"request":null,"signerName":""},"status":{}}`},
		{"empty bytes", object("certificates.k8s.io/v1", "CertificateSigningRequest", part(2, part(1))),
			`{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","metadata":{},"spec":{"request":"","signerName":""},"status":{}}`},
		{"packed numbers", object("v1", "Pod", part(2, part(14, part(4, "\x01\x02\x03")))),
			`{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null,"securityContext":{"supplementalGroups":[1,2,3]}},"status":{}}`},
	} {
		got, _, _, err := protojson.Decode(c.in, limit)
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.about, diff)
		}
	}
}

func TestDecodeErrorsQuoteNothing(t *testing.T) {
	const secret = "hunter2"
	meta := func(parts ...string) []byte { return object("v1", "ConfigMap", part(1, parts...)) }
	deep := part(2, "x")
	for range 600 {
		deep = part(26, deep) // JSONSchemaProps.not
	}
	for _, c := range []struct {
		about string
		in    []byte
		err   error
	}{
		{"nothing", nil, protojson.ErrSyntax},
		{"JSON", []byte(`{"a":"` + secret + `"}`), protojson.ErrSyntax},
		{"no kind", object("v1", ""), protojson.ErrUnknown},
		{"a kind of nobody", object(secret, secret), protojson.ErrUnknown},
		{"an alpha version", object("apps/v1beta1", "Deployment"), protojson.ErrUnknown},
		{"cut", meta(part(name, secret))[:20], protojson.ErrSyntax},
		{"longer than it is", []byte("k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + secret), protojson.ErrSyntax},
		{"number without end", meta("\x38" + strings.Repeat("\xff", 10) + "\x01"), protojson.ErrSyntax},
		{"field zero", meta("\x02\x01x"), protojson.ErrSyntax},
		{"another type", meta(number(name, 5)), protojson.ErrSyntax},
		{"the end of no group", meta("\xa4\x06\xa3\x06"), protojson.ErrSyntax},
		{"a type of field that is not there", meta("\xa6\x06"), protojson.ErrSyntax},
		{"no JSON", object("apps/v1", "ControllerRevision", part(2, part(1, secret))), protojson.ErrSyntax},
		{"a string that is a bool", object("v1", "Service", part(2, part(1, part(4, number(1, 7), part(3, secret))))), protojson.ErrSyntax},
		{"too large", bytes.Repeat([]byte("x"), 3<<20+1), protojson.ErrLimit},
		{"too deep", object("apiextensions.k8s.io/v1", "CustomResourceDefinition", part(2, part(7, part(4, part(1, deep))))), protojson.ErrLimit},
		{"large only as JSON", object("v1", "Pod", part(3, strings.Repeat(part(8), 200_000))), protojson.ErrLimit},
	} {
		got, apiVersion, kind, err := protojson.Decode(c.in, limit)
		if !errors.Is(err, c.err) || got != nil {
			t.Errorf("%s: got %.40q, %v, want %v", c.about, got, err, c.err)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", c.about, err)
		}
		if c.about == "a kind of nobody" && (apiVersion != secret || kind != secret) {
			t.Errorf("%s: it is not told", c.about)
		}
	}
}

// TestDecodeCutAnywhere: no prefix of an object passes for another object without
// being one, and none panics.
func TestDecodeCutAnywhere(t *testing.T) {
	b := load(t, "testdata/Pod.pb")
	for n := range b {
		got, _, _, err := protojson.Decode(b[:n], limit)
		if err == nil && n > 4 && !json.Valid(got) {
			t.Errorf("the first %d bytes gave %s", n, got)
		} else if err != nil && !errors.Is(err, protojson.ErrSyntax) && !errors.Is(err, protojson.ErrUnknown) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

// FuzzDecode: whatever comes, there is JSON or one of the three errors.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pb")
	if err != nil || len(files) == 0 {
		f.Fatalf("no pairs: %v", err)
	}
	for _, file := range files {
		f.Add(load(f, file))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		got, _, _, err := protojson.Decode(b, limit)
		if !bytes.Equal(b, before) {
			t.Error("it changed its input")
		}
		if err == nil {
			if !json.Valid(got) {
				t.Errorf("no JSON: %q", got)
			}
		} else if !errors.Is(err, protojson.ErrSyntax) && !errors.Is(err, protojson.ErrUnknown) && !errors.Is(err, protojson.ErrLimit) {
			t.Errorf("error %v", err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	pod := load(b, "testdata/Pod.pb")
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := protojson.Decode(pod, limit); err != nil {
			b.Fatal(err)
		}
	}
}
