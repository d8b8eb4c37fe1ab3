package codec_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
)

// TestRawIsNotPrinted: an object that gets into a log or an error by mistake shows its
// name, and nothing that it holds.
func TestRawIsNotPrinted(t *testing.T) {
	const text = `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","name":"db","resourceVersion":"7"},"data":{"password":"aHVudGVyMg=="}}`
	r, err := codec.ParseRaw([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	full, err := codec.ParseRawFull([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{r, &r, full, []codec.Raw{r}, struct{ Object codec.Raw }{r}, map[string]codec.RawFull{"x": full}} {
		for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%d"} {
			got := fmt.Sprintf(verb, v)
			if strings.Contains(got, "aHVudGVyMg") || strings.Contains(got, fmt.Sprintf("%x", "aHVudGVyMg")) {
				t.Errorf("%s of %T: %s", verb, v, got)
			}
			if !strings.Contains(got, "v1 Secret shop/db") {
				t.Errorf("%s of %T does not name the object: %s", verb, v, got)
			}
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("read", "object", r)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("read", "object", r, "full", full)
	if strings.Contains(log.String(), "aHVudGVyMg") || strings.Count(log.String(), "v1 Secret shop/db") != 3 {
		t.Errorf("log %s", log.String())
	}
	if got := fmt.Sprint(codec.Raw{}); got != "no object" {
		t.Errorf("the zero Raw is %q", got)
	}
}
