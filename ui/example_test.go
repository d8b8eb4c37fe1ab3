package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/ui"
)

// The page is mounted below a path of another server.
func ExampleNew() {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:8001"})
	if err != nil {
		panic(err)
	}
	u, err := ui.New(ui.Options{Client: c, BasePath: "/live"})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/live/", u)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:8080/live/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output:
	// 200 text/html; charset=utf-8
}
