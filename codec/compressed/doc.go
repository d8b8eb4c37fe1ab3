// Package compressed keeps objects as compressed JSON, for caches of many: a
// pod of 4.7 KB takes 500 to 800 bytes. One [Compressor] packs the objects of one
// collection, with a dictionary made of earlier ones, as an informer's
// Transform:
//
//	var c compressed.Compressor
//	pods := cache.New(client.Of[compressed.Raw](cl, kube.Pods),
//		cache.Options[compressed.Raw]{Transform: c.Compress})
//
// Namespace, name, UID and revision are read without decompressing. All else,
// labels included, is decompressed and parsed at each call: some ten
// microseconds. So this is for hundreds of thousands of objects that are looked
// up one by one, and not for a cache whose objects are all read again and again,
// for a few thousand objects, or where only some fields are needed: a struct of
// those fields is smaller still, and costs nothing to read.
//
// The dictionary is renewed when objects come to differ from it. What was packed
// before keeps its own, up to 64 KB, alive until the last such object is gone.
package compressed
