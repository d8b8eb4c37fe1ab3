package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/protojson"
)

// Indented returns JSON as people read it.
func Indented(b []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSuffix(b, []byte("\n")), "", "  ") != nil {
		return b
	}
	return out.Bytes()
}

// WantsIndented reports whether the answer is to be indented: where the query says
// so, and otherwise for programs that show it to people.
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

// TakesStatus reports whether r takes an error in a form that can be had: it is no
// Table, whatever was asked for. Where none was agreed upon, it is for people.
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

// IndentingWriter indents an answer in JSON, or, unless all are to be, an error;
// another it lets through.
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

// Finish sends what has been written.
func (p *IndentingWriter) Finish() {
	if !p.json {
		return
	}
	p.ResponseWriter.WriteHeader(p.code)
	p.ResponseWriter.Write(Indented(p.body.Bytes())) // an error means that the client has gone
}
