import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rustDispatch, rustOperations } from '../support/rust-operations.ts'

/** As progenitor writes it: an operation in `Client`, and its builder. */
const SOURCE = `
impl Client {
    pub fn get_prices(&self) -> builder::GetPrices<'_> {
        builder::GetPrices::new(self)
    }
    pub fn get_everything_by_name(
        &self,
    ) -> builder::GetEverythingByName<'_> {
        builder::GetEverythingByName::new(self)
    }
}
pub mod builder {
    pub struct GetPrices<'a> {
        client: &'a super::Client,
        chain: Result<types::ChainSymbol, String>,
        filters: Result<
            Option<::std::vec::Vec<types::RangeFilterCondition>>,
            String,
        >,
        body: Result<types::builder::PricesInput, String>,
    }
    impl<'a> GetPrices<'a> {
        ///Sends a \`POST\` request to \`/v2/{chain}/prices\`
        pub async fn send(self) {}
    }
    pub struct GetEverythingByName<'a> {
        client: &'a super::Client,
    }
    impl<'a> GetEverythingByName<'a> {
        ///Sends a \`GET\` request to \`/v2/everything\`
        pub async fn send(self) {}
    }
}
`

describe('operations of a Rust client', () => {
  test('have their paths and the types of their parameters, over several lines too', () => {
    assert.deepEqual(rustOperations(SOURCE), [
      {
        name: 'get_prices',
        path: '/v2/{chain}/prices',
        parameters: [
          { name: 'chain', type: 'types::ChainSymbol', isRequired: true },
          {
            name: 'filters',
            type: '::std::vec::Vec<types::RangeFilterCondition>',
            isRequired: false,
          },
          { name: 'body', type: 'types::PricesInput', isRequired: true },
        ],
      },
      { name: 'get_everything_by_name', path: '/v2/everything', parameters: [] },
    ])
  })

  test('are refused where a builder has a field of another form', () => {
    const other = SOURCE.replace('chain: Result<types::ChainSymbol, String>', 'chain: u64')
    assert.throws(() => rustOperations(other), /get_prices/)
  })

  test('are called by their names with whichever arguments are given', () => {
    const source = rustDispatch(rustOperations(SOURCE))
    assert.match(
      source,
      /"get_everything_by_name" => \{\s+let call = client\.get_everything_by_name\(\);/,
    )
    assert.match(
      source,
      /given\.take::<types::PricesInput>\("body"\)\? \{ call = call\.body\(value\); \}/,
    )
  })
})
