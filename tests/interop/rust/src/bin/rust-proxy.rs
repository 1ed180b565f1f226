//! A proxy of the SDK that changes nothing.
use agent_client_protocol::{Proxy, Stdio};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Proxy.v1().connect_to(Stdio::new()).await?;
    Ok(())
}
