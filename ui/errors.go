package ui

import (
	"net/http"

	"github.com/listwatch/listwatch/ui/internal/refusal"
)

var (
	errToken     = &refusal.Error{Code: http.StatusUnauthorized, Reason: "unauthorized", Text: "a link opens the page once, and this one was used, or the program was started again since: press Enter in its terminal for another one"}
	errSession   = &refusal.Error{Code: http.StatusUnauthorized, Reason: "unauthorized", Text: "this page has no session, or it has ended: open the link that the program prints"}
	errSite      = &refusal.Error{Code: http.StatusForbidden, Reason: "forbidden", Text: "this is for the page itself: open it in a browser that sends Sec-Fetch-Site"}
	errBusy      = &refusal.Error{Code: http.StatusTooManyRequests, Reason: "busy", Text: "too many at a time: close other tabs, or try again later"}
	errNotKept   = &refusal.Error{Code: http.StatusGone, Reason: "gone", Text: "this state is not kept any more: the history's budget is used"}
	errForbidden = &refusal.Error{Code: http.StatusForbidden, Reason: "forbidden", Text: "you may not see this: ask for permission to get, list and watch it"}
)
