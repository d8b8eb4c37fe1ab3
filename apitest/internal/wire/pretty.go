package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/protojson"
)

// Indented returns indented JSON, or b if the indentation is far too large.
func Indented(b []byte) []byte {
	if sprawls(b, false) {
		return b
	}
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSuffix(b, []byte("\n")), "", "  ") != nil {
		return b
	}
	return out.Bytes()
}

// WantsIndented reports whether to indent the response: if the query says so, and
// otherwise for programs that show it to people.
func WantsIndented(r *http.Request) bool {
	if v := r.URL.Query().Get("pretty"); v != "" {
		pretty, err := strconv.ParseBool(v)
		return err == nil && pretty
	}
	for _, agent := range [...]string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent(), agent) {
			return true
		}
	}
	return false
}

// TakesStatus reports whether r accepts an error in an available form: never as a
// Table. If none was negotiated, it is for people.
func TakesStatus(r *http.Request) bool {
	for _, c := range Clauses(r) {
		if c.Params == nil || c.Params["as"] != "" {
			continue
		}
		switch c.Type {
		case TypeJSON, TypeYAML, protojson.MediaType, "*/*", "application/*":
			return true
		}
	}
	return AcceptsNothing(r)
}

// IndentingWriter indents a JSON response, or only an error; it passes on other
// responses.
type IndentingWriter struct {
	http.ResponseWriter
	All  bool
	code int
	json bool
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (p *IndentingWriter) WriteHeader(code int) {
	p.code = code
	typ, _, _ := strings.Cut(p.Header().Get("Content-Type"), ";")
	if p.json = typ == TypeJSON && (p.All || code >= http.StatusBadRequest); !p.json {
		p.ResponseWriter.WriteHeader(code)
	}
}

// Write implements http.ResponseWriter.
func (p *IndentingWriter) Write(b []byte) (int, error) {
	if p.code == 0 {
		p.WriteHeader(http.StatusOK)
	}
	if p.json {
		return p.body.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// Finish sends the buffered response.
func (p *IndentingWriter) Finish() {
	if !p.json {
		return
	}
	p.ResponseWriter.WriteHeader(p.code)
	out := Indented(p.body.Bytes())
	p.body = bytes.Buffer{}     // sending may take long
	p.ResponseWriter.Write(out) // an error means that the client has left
}
