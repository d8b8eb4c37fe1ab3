// Package list reads collections page by page and object by object.
//
// A [Lister] sends LIST requests of a bounded size and hands out each object as
// soon as its bytes have arrived, so that a list of any length needs the memory
// of one object. All pages show one snapshot of the collection, whose revision
// [Lister.Revision] returns at the end: a watch from there misses nothing.
//
//	pods := list.New(client.Of[kube.Partial](c, kube.Pods), list.Options{})
//	for pod, err := range pods.All(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(pod.Name)
//	}
//
// A [Cursor] is the protocol by itself, without I/O: which query to send, and
// what an answer means. Package watch drives the same one. See
// https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks.
package list
