package client

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client/internal/redirect"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
)

const maxErrorBody = 64 << 10

// statusOf reads the Status of an error response. An HTML page of a proxy yields the
// code only: its text is not useful and may contain anything.
func (c *Client) statusOf(resp *http.Response, r *Request) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	st := &kube.Status{}
	if isProtobuf(resp.Header) {
		if text, err := protobuf.JSON(b); err == nil {
			if got, err := codec.Decode[kube.Status](text); err == nil {
				st = &got
			}
		}
	} else if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		if got, err := codec.Decode[kube.Status](b); err == nil {
			st = &got
		}
	} else if text := strings.TrimSpace(string(b)); resp.StatusCode == http.StatusNotFound && text == "404 page not found" {
		st.Message = "the server does not serve this path"
	} else if strings.Contains(text, "HTTP request to an HTTPS server") {
		st.Message = "the server uses https, but the request was http: write https:// in its address"
	}
	st.Code = resp.StatusCode // the body may lack it
	st.RetryAfter = retryAfter(resp.Header)
	if st.RetryAfter == 0 && st.Details != nil {
		st.RetryAfter = seconds(int64(st.Details.RetryAfterSeconds))
	}
	audit, flow, level := identifiers(resp.Header)
	st.AuditID = audit
	if resp.StatusCode/100 == 3 {
		st.Message = redirect.Cause(resp)
	}
	if resp.StatusCode == http.StatusTooManyRequests && flow != "" && st.Reason == "" { // not from an object, such as a budget
		return c.Conceal(fmt.Errorf("%s: %w (flow schema %s, priority level %s)", c.what(r), st, flow, level))
	}
	return c.Conceal(fmt.Errorf("%s: %w", c.what(r), st))
}

const maxRetryAfter = 24 * time.Hour // limits absurd values; callers have lower limits

func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), int64(maxRetryAfter/time.Second))) * time.Second
}

// retryAfter reads the Retry-After header: seconds, or a date, which is compared with
// the server's own clock. 0 if it is invalid.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return seconds(n)
	}
	if isDigits(v) { // more digits than an int64 holds
		return maxRetryAfter
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
