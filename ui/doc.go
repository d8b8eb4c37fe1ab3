// Package ui is the live page: a whole cluster in a browser, current, with a past.
//
// New returns an http.Handler, to be mounted anywhere; [UI.Run] does the work. It
// watches types while somebody looks at them, by one watch of Tables that contain the
// objects, keeps a bounded history of their states, and sends each page one resumable
// stream of what it shows. Sorting, filtering and windows are computed here: 100,000
// objects cost a browser what 50 do. A gap in what was seen is shown as a gap.
//
//	u, err := ui.New(ui.Options{Client: c})
//	...
//	go u.Run(ctx)
//	http.Serve(listener, u)
//
// It only reads. The data of Secrets is replaced before it is kept. PROTOCOL.md
// describes what the page and the handler say to each other.
package ui
