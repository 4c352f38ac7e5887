import type { Socket, SocketEvents } from './socket.ts'

/** What another surface of the socket server serves, by the path of its upgrades. */
export interface SocketRoute {
  readonly path: string
  readonly events: SocketEvents<unknown>
  /** Takes no new connections and ends those that are open. */
  stop(): Promise<void>
}

interface RoutedContext {
  readonly events: SocketEvents<unknown>
  readonly context: unknown
}

/** The events of several surfaces on one port. What no other surface serves is the main one's, which also answers for unknown paths. */
export const routeSockets = <Main>(
  main: SocketEvents<Main>,
  routes: readonly SocketRoute[],
): SocketEvents<RoutedContext | Main> => {
  const others = new WeakMap<Socket, SocketEvents<unknown>>()
  const isRouted = (context: RoutedContext | Main): context is RoutedContext =>
    typeof context === 'object' && context !== null && 'events' in context
  const eventsOf = (socket: Socket): Omit<SocketEvents<unknown>, 'upgrade' | 'open'> =>
    others.get(socket) ?? main
  return {
    upgrade: async (request) => {
      const route = routes.find(({ path }) => path === request.path)
      if (route === undefined) return main.upgrade(request)
      const { events } = route
      const decided = await events.upgrade(request)
      return decided.accepted
        ? { ...decided, context: { events, context: decided.context } }
        : decided
    },
    open: (socket, context) => {
      if (!isRouted(context)) return main.open(socket, context)
      others.set(socket, context.events)
      context.events.open(socket, context.context)
    },
    message: (socket, message) => eventsOf(socket).message(socket, message),
    alive: (socket) => eventsOf(socket).alive(socket),
    overflowed: (socket) => eventsOf(socket).overflowed(socket),
    failed: (socket) => eventsOf(socket).failed(socket),
    closed: (socket) => eventsOf(socket).closed(socket),
  }
}
