import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import {
  htmlFile,
  installPageFiles,
  packageScript,
  packageStyles,
  pageSender,
  scriptFile,
  styleFile,
} from '../http/static-page.ts'
import type { Meter } from '../interfaces.ts'

const EXPLORER_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>GraphiQL</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/graphql/graphiql.css">
    <link rel="stylesheet" href="/graphql/start.css">
  </head>
  <body>
    <div id="graphiql"></div>
    <noscript>GraphiQL needs scripts. The API itself takes POST requests at this address.</noscript>
    <script src="/graphql/react.js"></script>
    <script src="/graphql/react-dom.js"></script>
    <script src="/graphql/graphiql.js"></script>
    <script src="/graphql/start.js"></script>
  </body>
</html>
`

const START_STYLES = `html, body, #graphiql { height: 100%; margin: 0; }
`

/**
 * The query and the variables of the address open in the editor. Headers are not kept in the browser, because the API key of an organization
 * stands there.
 */
const START_SCRIPT = `const given = new URLSearchParams(location.search)
const query = given.get('query')
ReactDOM.createRoot(document.getElementById('graphiql')).render(
  React.createElement(GraphiQL, {
    fetcher: GraphiQL.createFetcher({ url: '/graphql' }),
    ...(query !== null && { query, variables: given.get('variables') ?? '' }),
    defaultQuery: \`# Put your API key into the tab Headers below.
{
  Solana {
    DEXTrades(limit: {count: 10}) {
      Block { Time Slot }
      Transaction { Signature }
      Trade { Buy { Amount PriceInUSD Currency { Symbol } } Dex { ProtocolName } }
    }
  }
}
\`,
    defaultHeaders: '{"X-API-KEY": ""}',
    defaultEditorToolsVisibility: 'headers',
    shouldPersistHeaders: false,
  }),
)
`

const require = createRequire(import.meta.url)

/** What sends GraphiQL to a browser that opens the address of the API. */
export const explorerPage = pageSender(htmlFile(EXPLORER_HTML))

/** Serves what GraphiQL is made of, below `/graphql/`. It needs no other network than this server. */
export const installExplorerFiles = (
  app: FastifyInstance,
  deps: { readonly meter: Pick<Meter, 'take'> },
): void => {
  const editor = require.resolve('graphiql/package.json')
  installPageFiles(
    app,
    {
      '/graphql/start.js': scriptFile(START_SCRIPT),
      '/graphql/start.css': styleFile(START_STYLES),
      '/graphql/graphiql.css': packageStyles(editor, 'graphiql.min.css'),
      '/graphql/graphiql.js': packageScript(editor, 'graphiql.min.js'),
      '/graphql/react.js': packageScript(
        require.resolve('react/package.json'),
        'umd/react.production.min.js',
      ),
      '/graphql/react-dom.js': packageScript(
        require.resolve('react-dom/package.json'),
        'umd/react-dom.production.min.js',
      ),
    },
    deps,
  )
}
