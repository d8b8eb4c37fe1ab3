// Package ui is the live page: it shows the objects of a cluster, and their past, in a browser.
//
// New returns an http.Handler, which may be mounted under any path, and [UI.Run] does the work.
// It watches a type while a page shows it, by one watch of Tables that contain the objects. It
// keeps a bounded history of their states, and sends each page one resumable stream of what the
// page shows. It sorts and filters lists itself and sends only the visible rows: 100,000 objects
// cost a browser as much as 50. A time that was not observed is shown as a gap.
//
//	u, err := ui.New(ui.Options{Client: c})
//	...
//	go u.Run(ctx)
//	http.Serve(listener, u)
//
// The page cannot change the cluster. The data of Secrets is redacted before it is stored.
// PROTOCOL.md describes the requests of the page and the responses of the handler.
package ui
