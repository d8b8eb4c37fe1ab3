package main

// why says why clients built on client-go fail a scenario. What it says was read
// off their requests (-requests) and client-go's tools/cache and rest packages.
var why = map[string]string{
	"tcp/unanswered": "A LIST has no deadline, unless rest.Config.Timeout is set, which cuts watches too: the informer waits for ever.",
	"tcp/half-open": "Over HTTP/1.1 nothing looks at the silence of a watch, though the server was asked for bookmarks; over HTTP/2 " +
		"pings find it (tcp/half-open-http2).",
	"tcp/stream-reset": "A closed connection is an end to it, after which it resumes; a reset HTTP/2 stream is an error in the data, " +
		"after which it asks for the whole collection again.",
	"http/429-date": "It reads Retry-After as a number only. A date, which HTTP allows, counts for nothing: it comes back by its own " +
		"backoff, which begins with a second.",
	"http/401-once":  "It resumes its watch after a refused connection and after 429; after 401 it asks for the whole collection again.",
	"stream/no-mark": "It waits for the mark, warns, and when the server ends the watch after 5 to 10 minutes, streams again: it never lists, and never syncs.",
	"stream/ignored": "As stream/no-mark: the mark never comes, and it never lists.",
	"bookmark/goes-back": "It takes the revision of each bookmark, whatever it had before: it is sent again what it knows, and is " +
		"told 410 where that is no longer in the history.",
	"restore/silent": "It waits for events from a revision that the server has not reached; objects that the restore took away stay in its cache.",
}
