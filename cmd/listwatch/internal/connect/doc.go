// Package connect has the flags that say which cluster and as whom, and makes the client.
package connect
