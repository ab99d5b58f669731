//! x
use super::adapter::*;
pub struct DemoAdapter;
impl Adapter for DemoAdapter {
    fn launch(&self, _: &LaunchContext<'_>) -> Result<Launch, AdapterError> {
        unimplemented!()
    }
    fn reader(&self) -> Box<dyn OutputReader + Send> {
        unimplemented!()
    }
}
