package client

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// unpack decompresses a response that was compressed although that was not requested:
// the transport decompresses only what it requested.
func unpack(resp *http.Response) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") || resp.Body == http.NoBody {
		return
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
	resp.Body = &packedBody{ReadCloser: resp.Body}
}

// packedBody decompresses. It reads nothing before its first Read.
type packedBody struct {
	io.ReadCloser
	gz *gzip.Reader
}

func (b *packedBody) Read(p []byte) (_ int, err error) {
	if b.gz == nil {
		if b.gz, err = gzip.NewReader(b.ReadCloser); err != nil {
			return 0, err // which ends every reader
		}
	}
	return b.gz.Read(p)
}
