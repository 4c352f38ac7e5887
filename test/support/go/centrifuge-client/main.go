// Reads channels with centrifuge-go and prints what it got, one JSON object per line on stdout.
//
// usage: centrifuge-client URL TOKEN json|protobuf fossil|none CHANNEL
//
// Events: connected, subscribed, publication, subscription-error, unsubscribed, disconnected, error. A line "history" on stdin
// asks for all that the channel keeps, "rpc" makes a call; the end of stdin disconnects.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge-go"
)

type line map[string]any

var output sync.Mutex

func print(event string, more line) {
	output.Lock()
	defer output.Unlock()
	more["event"] = event
	bytes, err := json.Marshal(more)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(bytes))
}

func publications(all []centrifuge.Publication) []line {
	lines := []line{}
	for _, publication := range all {
		lines = append(lines, line{"offset": publication.Offset, "data": json.RawMessage(publication.Data)})
	}
	return lines
}

// codeOf gives the code of an answer of the server, and its text for everything else.
func codeOf(err error) any {
	if refusal, ok := err.(*centrifuge.Error); ok {
		return refusal.Code
	}
	return fmt.Sprint(err)
}

func main() {
	url, token, encoding, delta, channel := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	config := centrifuge.Config{
		Token:             token,
		MinReconnectDelay: 50 * time.Millisecond,
		MaxReconnectDelay: 200 * time.Millisecond,
	}
	client := centrifuge.NewJsonClient(url, config)
	if encoding == "protobuf" {
		client = centrifuge.NewProtobufClient(url, config)
	}
	client.OnConnected(func(event centrifuge.ConnectedEvent) {
		print("connected", line{"data": json.RawMessage(event.Data)})
	})
	client.OnDisconnected(func(event centrifuge.DisconnectedEvent) {
		print("disconnected", line{"code": event.Code, "reason": event.Reason})
	})
	client.OnError(func(event centrifuge.ErrorEvent) { print("error", line{"message": event.Error.Error()}) })

	options := centrifuge.SubscriptionConfig{MinResubscribeDelay: 50 * time.Millisecond}
	if delta == "fossil" {
		options.Delta = centrifuge.DeltaTypeFossil
	}
	subscription, err := client.NewSubscription(channel, options)
	if err != nil {
		panic(err)
	}
	subscription.OnSubscribed(func(event centrifuge.SubscribedEvent) {
		print("subscribed", line{"recoverable": event.Recoverable, "recovered": event.Recovered, "wasRecovering": event.WasRecovering})
	})
	subscription.OnPublication(func(event centrifuge.PublicationEvent) {
		print("publication", publications([]centrifuge.Publication{event.Publication})[0])
	})
	subscription.OnError(func(event centrifuge.SubscriptionErrorEvent) {
		print("subscription-error", line{"message": event.Error.Error()})
	})
	subscription.OnUnsubscribed(func(event centrifuge.UnsubscribedEvent) {
		print("unsubscribed", line{"code": event.Code, "reason": event.Reason})
	})
	if err := client.Connect(); err != nil {
		panic(err)
	}
	if err := subscription.Subscribe(); err != nil {
		panic(err)
	}

	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		switch commands.Text() {
		case "history":
			result, err := subscription.History(context.Background(), centrifuge.WithHistoryLimit(-1))
			print("history", line{"code": codeOf(err), "publications": publications(result.Publications)})
		case "rpc":
			_, err := client.RPC(context.Background(), "anything", []byte("{}"))
			print("rpc", line{"code": codeOf(err)})
		}
	}
	client.Close()
}
