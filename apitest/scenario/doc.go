// Package scenario is a conformance kit for list/watch clients in any language:
// named stories in which a fake Kubernetes API server misbehaves as servers,
// proxies and networks do, and a verdict on how the client took it.
//
// The client is pointed at a URL and follows the ConfigMaps of all namespaces,
// or of namespace "default", for as long as the story lasts. It is judged by the
// requests it sends: when, how often, from which resourceVersion. So it needs no
// change, and its language does not matter. A client that wants more may report
// what it believes, see [Run.Report]: that is then held against the truth.
//
//	run, err := scenario.Serve(ctx, "gone/in-stream", scenario.Options{Log: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer run.Close()
//	fmt.Println("point the client at", run.URL)
//	fmt.Println(run.Wait(ctx))
//
// From a shell, for a client that takes its server from LISTWATCH_URL or KUBECONFIG,
// all of it is
//
//	listwatch fake --scenario all -- node client.js
//
// Most stories take a few seconds, few of them more than a minute; in a
// testing/synctest bubble, with [apitest.Options].InMemory, they take none. One
// client at a time, which watches one collection: two would be taken for one
// that is confused.
package scenario
