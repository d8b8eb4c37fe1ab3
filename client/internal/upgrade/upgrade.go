// Package upgrade refuses responses with which a server leaves HTTP.
package upgrade

import (
	"errors"
	"net/http"
)

var errSwitched = errors.New("the server switched protocols (101), which was not asked for")

// Refuse returns an error in place of a response with status 101, and closes it: its body is
// the connection, whose reading the context of the request does not end.
func Refuse(resp *http.Response, err error) (*http.Response, error) {
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	resp.Body.Close()
	return nil, errSwitched
}
