// Package scenario is a conformance kit for list/watch clients in any language: named
// scenarios in which a fake Kubernetes API server misbehaves as servers, proxies and
// networks do, and a verdict on the client's reaction.
//
// The client connects to a URL and follows the ConfigMaps of all namespaces, or of
// namespace "default", until the scenario ends. The verdict depends on its requests:
// when, how often, from which resourceVersion. So the client needs no change, and its
// language does not matter. A client may also report the objects that it knows, see
// [Run.Report]: these are compared with those of the server.
//
//	run, err := scenario.Serve(ctx, "gone/in-stream", scenario.Options{Log: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer run.Close()
//	fmt.Println("point the client at", run.URL)
//	fmt.Println(run.Wait(ctx))
//
// From a shell, for a client that reads its server from LISTWATCH_URL or KUBECONFIG,
// the same is
//
//	listwatch fake test -- node client.js
//
// Most scenarios take a few seconds, few of them more than a minute; in a
// testing/synctest bubble, with [apitest.Options].InMemory, they take no time. Run one
// client at a time, which watches one collection: two would look like a single faulty
// one.
package scenario
