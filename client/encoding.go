package client

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// unpack makes resp as it would be uncompressed, where something compressed it
// that nobody had asked to: the transport unpacks only what it asked for.
func unpack(resp *http.Response) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") || resp.Body == http.NoBody {
		return
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
	resp.Body = &packedBody{ReadCloser: resp.Body}
}

// packedBody unpacks what it reads; it looks at nothing before it is read.
type packedBody struct {
	io.ReadCloser
	gz  *gzip.Reader
	err error // of its header
}

func (b *packedBody) Read(p []byte) (int, error) {
	if b.gz == nil && b.err == nil {
		b.gz, b.err = gzip.NewReader(b.ReadCloser)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.gz.Read(p)
}
